#include "server/query/expressions/accumulate.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <set>
#include <unordered_map>

#include "base/error.h"
#include "bson/arithmetic.h"
#include "bson/builder.h"
#include "bson/compare.h"
#include "bson/sum.h"
#include "server/core/allowance.h"
#include "server/query/expressions/operator_support.h"

namespace server::query {
namespace {

using bson::Value;
using bson::ValueView;

class SumOf final : public Accumulator {
 public:
  void add(const ValueView& value) override { sum_.add(value); }
  Value result() const override { return sum_.total(); }

 private:
  bson::Sum sum_;
};

class Average final : public Accumulator {
 public:
  void add(const ValueView& value) override { sum_.add(value); }
  Value result() const override { return sum_.average(); }

 private:
  bson::Sum sum_;
};

class Count final : public Accumulator {
 public:
  void add(const ValueView&) override { ++count_; }
  Value result() const override { return count_ <= INT32_MAX ? Value(static_cast<int32_t>(count_)) : Value(count_); }

 private:
  int64_t count_ = 0;
};

// Nulls and missing values don't count.
template <int sign>
class Extreme final : public Accumulator {
 public:
  explicit Extreme(const AccumulatorSettings& settings) : collator_(settings.collator) {}
  void add(const ValueView& value) override {
    if (value.is_nullish()) return;
    if (!best_.exists() || sign * bson::compare(value, best_, collator_) > 0) best_ = Value(value);
  }
  Value result() const override { return best_.exists() ? best_ : Value::null(); }
  size_t bytes() const override { return 64 + best_.view().bytes().size(); }

 private:
  const bson::Collator* const collator_;
  Value best_;
};

class First final : public Accumulator {
 public:
  void add(const ValueView& value) override {
    if (!any_) value_ = Value(value);
    any_ = true;
  }
  Value result() const override { return value_.exists() ? value_ : Value::null(); }
  size_t bytes() const override { return 64 + value_.view().bytes().size(); }

 private:
  bool any_ = false;
  Value value_;
};

class Last final : public Accumulator {
 public:
  void add(const ValueView& value) override { value_ = Value(value); }
  Value result() const override { return value_.exists() ? value_ : Value::null(); }
  size_t bytes() const override { return 64 + value_.view().bytes().size(); }

 private:
  Value value_;
};

// These accumulators keep all their values, and have nothing to put on a disk.
constexpr size_t kept_bytes_max = 100 << 20;

void check_kept(std::string_view name, size_t bytes) {
  if (bytes <= kept_bytes_max) [[likely]]
    return;
  throw base::OperationError(base::ErrorCode::exceeded_memory_limit,
                             std::string(name) + " used too much memory and cannot spill to disk. Used: " +
                                 std::to_string(bytes) + "bytes. Memory limit: " + std::to_string(kept_bytes_max) + " bytes");
}

class Push final : public Accumulator {
 public:
  void add(const ValueView& value) override {
    if (!value.exists()) return;
    bytes_ += sizeof(Value) + value.bytes().size();
    check_kept("$push", bytes_);
    values_.emplace_back(value);
  }
  Value result() const override {
    bson::ArrayBuilder out;
    for (const Value& value : values_) out.append(value);
    return out.done_value();
  }
  size_t bytes() const override { return bytes_; }

 private:
  std::deque<Value> values_;
  size_t bytes_ = 64;
};

class AddToSet final : public Accumulator {
 public:
  explicit AddToSet(const AccumulatorSettings& settings)
      : seen_(0, bson::ValueHash{settings.collator}, bson::ValueEqual{settings.collator}) {}
  void add(const ValueView& value) override {
    if (!value.exists()) return;
    if (seen_.emplace(Value(value), order_.size()).second) {
      order_.emplace_back(value);
      bytes_ += 2 * (sizeof(Value) + value.bytes().size());
      check_kept("$addToSet", bytes_);
    }
  }
  Value result() const override {
    bson::ArrayBuilder out;
    for (const Value& value : order_) out.append(value);
    return out.done_value();
  }
  size_t bytes() const override { return bytes_; }

 private:
  std::unordered_map<Value, size_t, bson::ValueHash, bson::ValueEqual> seen_;
  std::deque<Value> order_;
  size_t bytes_ = 64;
};

// This is Welford's running variance: one pass, no cancellation.
template <bool sample>
class StandardDeviation final : public Accumulator {
 public:
  void add(const ValueView& value) override {
    if (!value.is_number()) return;
    const double x = value.to_double();
    ++count_;
    const double delta = x - mean_;
    mean_ += delta / static_cast<double>(count_);
    squares_ += delta * (x - mean_);
  }
  Value result() const override {
    const int64_t divisor = sample ? count_ - 1 : count_;
    return divisor <= 0 ? Value::null() : Value(std::sqrt(squares_ / static_cast<double>(divisor)));
  }

 private:
  int64_t count_ = 0;
  double mean_ = 0;
  double squares_ = 0;
};

class MergeObjects final : public Accumulator {
 public:
  void add(const ValueView& value) override {
    if (value.is_nullish()) return;
    if (!value.is_object()) {
      throw base::OperationError(40400, "$mergeObjects requires object inputs, but input " +
                                            std::string(bson::type_name(value.type())) + " is of type " +
                                            std::string(bson::type_name(value.type())));
    }
    for (const bson::Element& field : value.as_document()) {
      const auto place = places_.find(field.name);
      Value& kept = place != places_.end() ? fields_[place->second].value : add_field(field.name);
      bytes_ += field.bytes().size() - kept.view().bytes().size();
      kept = Value(field);
    }
  }
  Value result() const override {
    bson::Builder out;
    for (const Field& field : fields_) out.append(field.name, field.value);
    return Value(out.done());
  }
  size_t bytes() const override { return bytes_; }

 private:
  struct Field {
    std::string name;
    Value value;
  };
  static constexpr size_t bytes_per_field = sizeof(Field) + 64;  // with its place in the table

  Value& add_field(std::string_view name) {
    fields_.push_back({std::string(name), Value()});
    places_.emplace(fields_.back().name, fields_.size() - 1);
    bytes_ += bytes_per_field + name.size();
    return fields_.back().value;
  }

  std::deque<Field> fields_;  // it doesn't move them: the table borrows their names
  std::unordered_map<std::string_view, size_t> places_;
  size_t bytes_ = 64;
};

// Returns the bytes that a container needs for the value.
size_t kept_bytes(const Value& value) {
  return sizeof(Value) + value.view().bytes().size();
}

// Keeps the first or the last n values.
template <bool first>
class EndN final : public Accumulator {
 public:
  explicit EndN(int64_t n) : n_(n) {}
  void add(const ValueView& value) override {
    if (static_cast<int64_t>(values_.size()) == n_) {
      if (first) return;
      bytes_ -= kept_bytes(values_.front());
      values_.pop_front();
    }
    values_.push_back(value.exists() ? Value(value) : Value::null());
    bytes_ += kept_bytes(values_.back());
    check_kept(first ? "$firstN" : "$lastN", bytes_);
  }
  Value result() const override {
    bson::ArrayBuilder out;
    for (const Value& value : values_) out.append(value);
    return out.done_value();
  }
  size_t bytes() const override { return bytes_; }

 private:
  int64_t n_;
  std::deque<Value> values_;
  size_t bytes_ = 64;
};

// Keeps the smallest or the largest n values.
template <int sign>
class ExtremeN final : public Accumulator {
 public:
  explicit ExtremeN(const AccumulatorSettings& settings) : n_(settings.n), values_(Better{settings.collator}) {}
  void add(const ValueView& value) override {
    if (value.is_nullish()) return;
    bytes_ += node_bytes + kept_bytes(*values_.insert(Value(value)));
    if (static_cast<int64_t>(values_.size()) > n_) {
      const auto worst = std::prev(values_.end());
      bytes_ -= node_bytes + kept_bytes(*worst);
      values_.erase(worst);
    }
    check_kept(sign < 0 ? "$minN" : "$maxN", bytes_);
  }
  Value result() const override {
    bson::ArrayBuilder out;
    for (const Value& value : values_) out.append(value);
    return out.done_value();
  }
  size_t bytes() const override { return bytes_; }

 private:
  struct Better {
    const bson::Collator* collator;
    bool operator()(const Value& a, const Value& b) const { return sign * bson::compare(a, b, collator) > 0; }
  };
  static constexpr size_t node_bytes = 40;  // of the tree
  int64_t n_;
  std::multiset<Value, Better> values_;
  size_t bytes_ = 64;
};

// Keeps the first or the last values by their keys. Among equal keys, earlier values come first.
template <bool first, bool one>
class Ordered final : public Accumulator {
 public:
  explicit Ordered(const AccumulatorSettings& settings) : n_(one ? 1 : static_cast<size_t>(settings.n)) {}
  void add(const ValueView& input) override {
    const bson::DocumentView pair = input.as_document();
    const ValueView value = pair["v"];
    const auto added = values_.emplace(Bytes(pair["k"].as_binary().bytes), value.exists() ? Value(value) : Value::null());
    bytes_ += cost(*added);
    if (values_.size() > n_) {
      const auto out = first ? std::prev(values_.end()) : values_.begin();
      bytes_ -= cost(*out);
      values_.erase(out);
    }
    if (!one) check_kept(first ? "$topN" : "$bottomN", bytes_);
  }
  Value result() const override {
    if (one) return values_.empty() ? Value::null() : values_.begin()->second;
    bson::ArrayBuilder out;
    for (const auto& [key, value] : values_) out.append(value);
    return out.done_value();
  }
  size_t bytes() const override { return bytes_; }

 private:
  using Bytes = bson::Bytes;
  static size_t cost(const std::pair<const Bytes, Value>& entry) {
    return 96 + entry.first.size() + entry.second.view().bytes().size();
  }

  const size_t n_;
  std::multimap<Bytes, Value> values_;
  size_t bytes_ = 64;
};

// The result is exact: the smallest number that is at least the given share of all. Values that aren't numbers don't count.
template <bool one>
class Percentiles final : public Accumulator {
 public:
  explicit Percentiles(const AccumulatorSettings& settings) : wanted_(settings.percentiles), allowance_(settings.allowance) {}
  void add(const ValueView& value) override {
    if (!value.is_number() || std::isnan(value.to_double())) return;
    numbers_.push_back(value.to_double());
    check_kept(one ? "$median" : "$percentile", numbers_.size() * sizeof(double));
  }
  Value result() const override {
    sort();
    const auto at = [&](double p) {
      if (numbers_.empty()) return Value::null();
      const double rank = std::ceil(p * static_cast<double>(numbers_.size())) - 1;
      return Value(numbers_[static_cast<size_t>(std::clamp(rank, 0.0, static_cast<double>(numbers_.size() - 1)))]);
    };
    if (one) return at(wanted_[0]);
    bson::ArrayBuilder out;
    for (const double p : wanted_) out.append(at(p));
    return out.done_value();
  }
  size_t bytes() const override { return 64 + numbers_.capacity() * sizeof(double); }

 private:
  // A window that grows asks for a result after each number, so those that were sorted before stay so.
  void sort() const {
    const auto less = [this](double a, double b) {
      if (allowance_) allowance_->work();
      return a < b;
    };
    const auto added = numbers_.begin() + static_cast<ptrdiff_t>(sorted_);
    std::sort(added, numbers_.end(), less);
    std::inplace_merge(numbers_.begin(), added, numbers_.end(), less);
    sorted_ = numbers_.size();
  }

  const std::vector<double> wanted_;
  Allowance* const allowance_;
  mutable std::vector<double> numbers_;
  mutable size_t sorted_ = 0;  // so many of them, the first ones
};

using Make = std::unique_ptr<Accumulator> (*)(const AccumulatorSettings&);
template <class T>
std::unique_ptr<Accumulator> plain(const AccumulatorSettings&) {
  return std::make_unique<T>();
}
template <class T>
std::unique_ptr<Accumulator> with_n(const AccumulatorSettings& settings) {
  return std::make_unique<T>(settings.n);
}
template <class T>
std::unique_ptr<Accumulator> with_settings(const AccumulatorSettings& settings) {
  return std::make_unique<T>(settings);
}

struct Entry {
  std::string_view name;
  Make make;
  AccumulatorForm form = AccumulatorForm::plain;
};
constexpr Entry entries[] = {
    {"$sum", plain<SumOf>},
    {"$avg", plain<Average>},
    {"$min", with_settings<Extreme<-1>>},
    {"$max", with_settings<Extreme<1>>},
    {"$first", plain<First>},
    {"$last", plain<Last>},
    {"$push", plain<Push>},
    {"$addToSet", with_settings<AddToSet>},
    {"$stdDevPop", plain<StandardDeviation<false>>},
    {"$stdDevSamp", plain<StandardDeviation<true>>},
    {"$mergeObjects", plain<MergeObjects>},
    {"$count", plain<Count>},
    {"$firstN", with_n<EndN<true>>, AccumulatorForm::n},
    {"$lastN", with_n<EndN<false>>, AccumulatorForm::n},
    {"$minN", with_settings<ExtremeN<-1>>, AccumulatorForm::n},
    {"$maxN", with_settings<ExtremeN<1>>, AccumulatorForm::n},
    {"$top", with_settings<Ordered<true, true>>, AccumulatorForm::ordered},
    {"$bottom", with_settings<Ordered<false, true>>, AccumulatorForm::ordered},
    {"$topN", with_settings<Ordered<true, false>>, AccumulatorForm::ordered_n},
    {"$bottomN", with_settings<Ordered<false, false>>, AccumulatorForm::ordered_n},
    {"$percentile", with_settings<Percentiles<false>>, AccumulatorForm::percentiles},
    {"$median", with_settings<Percentiles<true>>, AccumulatorForm::percentiles},
};

const Entry* find(std::string_view name) {
  const auto* found =
      std::find_if(std::begin(entries), std::end(entries), [&](const Entry& entry) { return entry.name == name; });
  return found == std::end(entries) ? nullptr : found;
}

}  // namespace

std::unique_ptr<Accumulator> make_accumulator(std::string_view name, const AccumulatorSettings& settings) {
  const Entry* entry = find(name);
  base::check(entry != nullptr, "an accumulator of that name was parsed");
  return entry->make(settings);
}

std::optional<AccumulatorForm> accumulator_form(std::string_view name) {
  const Entry* entry = find(name);
  return entry ? std::optional(entry->form) : std::nullopt;
}

Value ordered_input(bson::BytesView key, const ValueView& value) {
  bson::Builder pair;
  pair.append("k", bson::Binary{0, key});
  if (value.exists()) pair.append("v", value);
  return Value(pair.done().view());
}

int64_t n_argument(const bson::ValueView& n) {
  const auto refuse = [&](int code) { fail(code, "Value for 'n' must be of integral type, but found " + value_text(n)); };
  if (!n.is_number()) refuse(5787902);
  const auto count = bson::number::exact_int64(n);
  if (!count) refuse(5787903);
  if (*count <= 0) fail(5787908, "'n' must be greater than 0, found " + std::to_string(*count));
  return *count;
}

int n_not_object_code(std::string_view name) {
  return name == "$minN" || name == "$maxN" ? 5787900 : 5787801;
}

}  // namespace server::query
