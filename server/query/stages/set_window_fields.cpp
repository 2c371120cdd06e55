// $setWindowFields computes fields over a document's neighbours.
//
//   documents -> parted by partitionBy, each part sorted by sortBy -> for each document a window of the part
//
//   documents: [-1, 1]     by place:  . [ x  X  x ] . .
//   range: [-10, 0]        by the sortBy field's value, in numbers or units of time
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "bson/arithmetic.h"
#include "bson/keystring.h"
#include "bson/path.h"
#include "bson/sum.h"
#include "server/core/operation.h"
#include "server/query/expressions/accumulating.h"
#include "server/query/expressions/constant_value.h"
#include "server/query/expressions/date_units.h"
#include "server/query/place_field.h"
#include "server/query/sort_pattern.h"
#include "server/query/stages/accumulated_field.h"
#include "server/query/stages/pipeline.h"
#include "server/query/stages/registry.h"
#include "server/query/stages/sorting.h"
#include "server/query/stages/support.h"
#include "server/query/stages/window_curves.h"

namespace server::query {

using base::ErrorCode;
using bson::DocumentView;
using bson::Element;
using bson::Value;
using bson::ValueView;

namespace {

constexpr double unbounded = std::numeric_limits<double>::infinity();

struct Window {
  bool by_range = false;
  double lower = -unbounded, upper = unbounded;  // distances from the document: places, values or milliseconds
  bool dates = false;
  std::optional<DateUnit> calendar;  // the distances are in months or longer units, which differ in length

  // Returns where the window of a document at `place` begins or ends.
  double limit(double place, double distance) const {
    if (!calendar || distance == 0 || std::isinf(distance)) return place + distance;
    const LocalTime from(std::chrono::milliseconds(static_cast<int64_t>(place)));
    return static_cast<double>(shifted(from, *calendar, static_cast<int64_t>(distance)).time_since_epoch().count());
  }
};

enum class Kind {
  accumulator,
  rank,
  dense_rank,
  document_number,
  shift,
  locf,
  derivative,
  integral,
  moving_average,
  covariance_pop,
  covariance_samp,
  line
};

struct Output {
  std::string path;
  Kind kind = Kind::accumulator;
  Window window;
  AccumulatedField field;             // accumulator
  std::shared_ptr<Expression> input;  // of all other functions
  std::shared_ptr<Expression> other;  // covariance: y
  int64_t unit_ms = 0;                // of derivative and integral over a sortBy field that is a date; else 0
  double alpha = 0;                   // moving_average
  int64_t by = 0;                     // shift
  Value otherwise = Value::null();
};

struct Plan {
  std::shared_ptr<Expression> partition_by;
  SortPattern sort;
  std::string sort_path;
  std::vector<Output> outputs;
};

class SetWindowFields final : public Stage {
 public:
  SetWindowFields(StagePtr from, const Plan& plan, PipelineContext& context)
      : Stage(std::move(from)),
        plan_(plan),
        frame_(context.scope),
        sorter_(sorter_options(context), context.allowance),
        memory_(context.allowance.memory()),
        held_(memory_) {}

  bool next() override {
    if (!std::exchange(read_, true)) read_all();
    if (at_ == entries_.size() && !next_part()) return false;
    out_ = std::move(entries_[at_].document);
    for (size_t i = 0; i < plan_.outputs.size(); ++i) out_ = with_field_at(out_, plan_.outputs[i].path, results_[i][at_]);
    ++at_;
    return true;
  }
  DocumentView document() override { return out_; }

 private:
  void charge(size_t bytes) {
    held_.add(bytes);
    if (held_.bytes() > stage_memory_max) {
      refuse(5414201, "Exceeded memory limit in DocumentSourceSetWindowFields, used " + std::to_string(held_.bytes()) + " bytes");
    }
  }

  // A document's key is its partition's, its own within the partition, and the length of the partition's.
  using PartitionBytes = uint32_t;

  void read_all() {
    while (source().next()) {
      const DocumentView document = source().document();
      frame_.work_on(document.size());
      bson::KeyString partition_key;
      if (plan_.partition_by) {
        frame_.begin(document);
        Value partition = plan_.partition_by->evaluate(frame_);
        if (!partition.exists()) partition = Value::null();
        if (partition.type() == bson::Type::array) {
          refuse(ErrorCode::type_mismatch, "An expression used to partition cannot evaluate to value of type array");
        }
        partition_key.append(partition, false, frame_.collator());
      }
      bson::Bytes key = std::move(partition_key).bytes();
      const auto partition_bytes = static_cast<PartitionBytes>(key.size());
      if (!plan_.sort.empty()) key += plan_.sort.key(document, frame_.allowance());
      key.append(reinterpret_cast<const char*>(&partition_bytes), sizeof partition_bytes);
      sorter_.take(std::move(key), 0, document);
    }
    sorter_.finish();
    more_ = sorter_.next(ahead_);
  }

  static bson::BytesView partition_of(bson::BytesView key) {
    PartitionBytes bytes = 0;
    std::memcpy(&bytes, key.data() + key.size() - sizeof bytes, sizeof bytes);
    return key.substr(0, bytes);
  }

  // Reads the next partition, and computes its outputs. Returns false after the last one.
  bool next_part() {
    entries_.clear();
    results_.clear();
    held_.set(0);
    at_ = 0;
    if (!more_) return false;
    const bson::Bytes partition(partition_of(ahead_.key));
    do {
      charge(ahead_.bytes());
      entries_.push_back(std::move(ahead_));
      more_ = sorter_.next(ahead_);
    } while (more_ && partition_of(ahead_.key) == partition);
    for (const Output& output : plan_.outputs) results_.push_back(compute(output));
    return true;
  }

  size_t count() const { return entries_.size(); }
  const exec::SortEntry& entry(size_t i) const { return entries_[i]; }

  Value evaluate(const Expression& expression, size_t i) {
    frame_.begin(entry(i).document);
    return expression.evaluate(frame_);
  }

  std::vector<Value> compute(const Output& output) {
    std::vector<Value> values;
    values.reserve(count());
    switch (output.kind) {
      case Kind::accumulator: accumulate(output, values); break;
      case Kind::rank:
      case Kind::dense_rank: rank(output.kind, values); break;
      case Kind::document_number:
        for (size_t i = 0; i < count(); ++i) keep(values, Value(static_cast<int32_t>(i + 1)));
        break;
      case Kind::shift:
        for (size_t i = 0; i < count(); ++i) {
          const int64_t from = static_cast<int64_t>(i) + output.by;
          const bool inside = from >= 0 && from < static_cast<int64_t>(count());
          keep(values, inside ? or_null(evaluate(*output.input, static_cast<size_t>(from))) : output.otherwise);
        }
        break;
      case Kind::locf: {
        Value last = Value::null();
        for (size_t i = 0; i < count(); ++i) {
          Value value = evaluate(*output.input, i);
          if (!value.view().is_nullish()) last = std::move(value);
          keep(values, last);
        }
        break;
      }
      case Kind::derivative: derive(output, values); break;
      case Kind::integral: integrate(output, values); break;
      case Kind::covariance_pop:
      case Kind::covariance_samp: covary(output, values); break;
      case Kind::moving_average: {
        std::optional<double> average;
        for (size_t i = 0; i < count(); ++i) {
          const Value value = evaluate(*output.input, i);
          if (value.view().is_number()) {
            const double now = value.view().to_double();
            average = average ? output.alpha * now + (1 - output.alpha) * *average : now;
          }
          keep(values, value.view().is_number() ? Value(*average) : Value::null());
        }
        break;
      }
      case Kind::line: fill(output, values); break;
    }
    return values;
  }

  void keep(std::vector<Value>& values, Value value) {
    const size_t bytes = value.view().bytes().size();
    frame_.work_on(bytes);
    charge(sizeof(Value) + bytes);
    values.push_back(std::move(value));
  }

  static Value or_null(Value value) { return value.exists() ? std::move(value) : Value::null(); }

  std::vector<double> places_for(const Window& window, Held& held) {
    return window.by_range ? places_of(window.dates, held) : std::vector<double>();
  }

  // Collects the points of a window. Documents without two numbers don't count.
  void covary(const Output& output, std::vector<Value>& values) {
    Held held(memory_);
    held.add(count() * (sizeof(std::optional<Point>) + sizeof(Point)));
    std::vector<std::optional<Point>> all(count());
    for (size_t i = 0; i < count(); ++i) {
      Value x = evaluate(*output.input, i);
      Value y = output.other ? evaluate(*output.other, i) : Value();
      if (!output.other) {
        const Value pair = std::move(x);
        if (pair.type() != bson::Type::array || pair.view().as_document().count() != 2) continue;
        x = Value(pair.view().as_document()["0"]);
        y = Value(pair.view().as_document()["1"]);
      }
      if (x.view().is_number() && y.view().is_number()) all[i] = Point{x.view().to_double(), y.view().to_double()};
    }
    const std::vector<double> places = places_for(output.window, held);
    size_t begin = 0, end = 0;
    std::vector<Point> points;
    for (size_t i = 0; i < count(); ++i) {
      move_window(output.window, places, i, begin, end);
      frame_.work(1 + (end - begin));
      points.clear();
      for (size_t at = begin; at < end; ++at) {
        if (all[at]) points.push_back(*all[at]);
      }
      const auto result = covariance(points, output.kind == Kind::covariance_samp);
      keep(values, result ? Value(*result) : Value::null());
    }
  }

  ValueView sorted_by(size_t i) const { return bson::value_at(entry(i).document, plan_.sort_path); }

  // Returns a number: the milliseconds of a date.
  static Value number_of(const ValueView& value) {
    return value.type() == bson::Type::date ? Value(value.as_date().ms) : Value(value);
  }

  // The slope of a window is that of the line from its first to its last document. Only those two are looked at.
  void derive(const Output& output, std::vector<Value>& values) {
    Held held(memory_);
    const std::vector<double> places = places_for(output.window, held);
    size_t begin = 0, end = 0;
    for (size_t i = 0; i < count(); ++i) {
      move_window(output.window, places, i, begin, end);
      keep(values, begin < end ? or_null(slope_between(output, begin, end - 1)) : Value::null());
    }
  }

  Value slope_between(const Output& output, size_t left, size_t right) {
    using enum bson::Type;
    const ValueView from = sorted_by(left), to = sorted_by(right);
    if (output.unit_ms > 0) {
      if (from.type() != date || to.type() != date)
        refuse(5624900, "$derivative with 'unit' expects the sortBy field to be a Date");
    } else {
      if (from.type() == date || to.type() == date) refuse(5624901, "$derivative where the sortBy is a Date requires an 'unit'");
      if (!from.is_number() || !to.is_number())
        refuse(5624902, "$derivative (with no 'unit') expects the sortBy field to be numeric");
    }
    const Value low = evaluate(*output.input, left), high = evaluate(*output.input, right);
    if (low.view().is_nullish() || high.view().is_nullish()) refuse(5624903, "$derivative input must not be null or missing");
    const bool dates = low.type() == date && high.type() == date;
    if (!dates && (!low.view().is_number() || !high.view().is_number()))
      refuse(ErrorCode::type_mismatch, "can't $subtract " + type_of(low) + " from " + type_of(high));
    Value result = slope({number_of(from), number_of(low.view())}, {number_of(to), number_of(high.view())});
    if (output.unit_ms > 0 && result.exists()) result = bson::number::multiply(result, Value(output.unit_ms));
    return result;
  }

  // The area of a window is the sum of those between its neighbours, each of which is computed once.
  void integrate(const Output& output, std::vector<Value>& values) {
    Held held(memory_);
    held.add(count() * (sizeof(std::optional<Integrated>) + sizeof(Value)));
    const std::vector<double> places = places_for(output.window, held);
    std::vector<std::optional<Integrated>> points(count());  // of the documents that windows have
    std::vector<Value> areas(count());                       // from the document before
    size_t begin = 0, end = 0;
    for (size_t i = 0; i < count(); ++i) {
      move_window(output.window, places, i, begin, end);
      frame_.work(1 + (end - begin));
      if (begin == end) {
        keep(values, Value::null());
        continue;
      }
      bson::Sum sum;
      bool nan = false;
      for (size_t at = begin; at < end; ++at) {
        if (!points[at]) points[at] = integrated(output, at);
        nan = nan || points[at]->nan;
        if (at == begin) continue;
        if (!areas[at].exists()) areas[at] = area(points[at - 1]->at, points[at]->at);
        sum.add(areas[at]);
      }
      Value result = nan ? Value(std::numeric_limits<double>::quiet_NaN()) : sum.total();
      if (output.unit_ms > 0 && !nan) result = bson::number::divide(result, Value(output.unit_ms));
      keep(values, std::move(result));
    }
  }

  static bool is_nan(const Value& number) { return std::isnan(number.view().to_double()); }

  struct Integrated {
    NumberPoint at;
    bool nan;  // one of the coordinates is no number
  };
  Integrated integrated(const Output& output, size_t i) {
    const ValueView x = sorted_by(i);
    Value y = evaluate(*output.input, i);
    const bool date = x.type() == bson::Type::date;
    if ((!date && !x.is_number()) || !y.view().is_number()) {
      refuse(5423900,
             "The input value of $integral window function must be a vector of 2 value, the first value must be numeric or date "
             "type and the second must be numeric.");
    }
    if (output.unit_ms > 0 && !date) refuse(5423901, "$integral with 'unit' expects the sortBy field to be a Date");
    if (output.unit_ms == 0 && date) refuse(5423902, "$integral (with no 'unit') expects the sortBy field to be numeric");
    NumberPoint at{number_of(x), std::move(y)};
    const bool nan = is_nan(at.x) || is_nan(at.y);
    return {std::move(at), nan};
  }

  void fill(const Output& output, std::vector<Value>& values) {
    const bool dates = count() > 0 && bson::value_at(entry(0).document, plan_.sort_path).type() == bson::Type::date;
    Held held(memory_);
    held.add(count() * sizeof(std::optional<double>));
    const std::vector<double> x = places_of(dates, held);
    for (size_t i = 1; i < count(); ++i) {
      if (x[i] == x[i - 1]) refuse(6050106, "There can be no repeated values in the sort field");
    }
    std::vector<std::optional<double>> y(count());
    for (size_t i = 0; i < count(); ++i) {
      keep(values, or_null(evaluate(*output.input, i)));
      if (values[i].view().is_nullish()) continue;
      if (!values[i].view().is_number()) refuse(ErrorCode::type_mismatch, "Value to be filled must be numeric or nullish");
      y[i] = values[i].view().to_double();
    }
    fill_gaps(x, y);
    for (size_t i = 0; i < count(); ++i) {
      if (y[i] && values[i].view().is_nullish()) values[i] = Value(*y[i]);
    }
  }

  void rank(Kind kind, std::vector<Value>& values) {
    int32_t rank = 0, dense = 0;
    for (size_t i = 0; i < count(); ++i) {
      if (i == 0 || entry(i).key != entry(i - 1).key) {
        rank = static_cast<int32_t>(i + 1);
        ++dense;
      }
      keep(values, Value(kind == Kind::rank ? rank : dense));
    }
  }

  void accumulate(const Output& output, std::vector<Value>& values) {
    std::vector<Value> inputs;
    Held inputs_held(memory_);
    for (size_t i = 0; i < count(); ++i) {
      inputs.push_back(evaluate(*output.field.input, i));
      inputs_held.add(sizeof(Value) + inputs.back().view().bytes().size());
    }
    const std::vector<double> places = places_for(output.window, inputs_held);
    // A window that only grows is added to; any other is summed up anew.
    const bool grows = output.window.lower == -unbounded;
    std::unique_ptr<Accumulator> accumulator;
    size_t begin = 0, end = 0, first = 0, added = 0;
    frame_.keep(0, 0);
    for (size_t i = 0; i < count(); ++i) {
      move_window(output.window, places, i, begin, end);
      if (accumulator && first == begin && added == end) {  // it is the window of the document before
        keep(values, values.back());
        continue;
      }
      if (!grows || !accumulator || end < added) {
        accumulator = output.field.make(frame_);
        added = begin;
      }
      first = begin;
      for (; added < end; ++added) add_to(*accumulator, inputs[added], frame_, 0);
      keep(values, or_null(result_of(frame_, *accumulator)));
      frame_.keep(0, accumulator->bytes());
    }
    frame_.keep(0, 0);
  }

  // Returns [begin, end) of document i's window. Both only move forward from one document to the next, unless the distances are
  // in months: a month before 31 March 1:00 is 28 February 1:00, but a month before 30 March 2:00 is an hour later.
  void move_window(const Window& window, const std::vector<double>& places, size_t i, size_t& begin, size_t& end) const {
    if (window.calendar) {
      const auto index = [&](auto found) { return static_cast<size_t>(found - places.begin()); };
      begin = index(std::lower_bound(places.begin(), places.end(), window.limit(places[i], window.lower)));
      end = std::max(begin, index(std::upper_bound(places.begin(), places.end(), window.limit(places[i], window.upper))));
      return;
    }
    const auto place = [&](size_t at) { return window.by_range ? places[at] : static_cast<double>(at); };
    while (begin < count() && place(begin) < place(i) + window.lower) ++begin;
    end = std::max(begin, end);
    while (end < count() && place(end) <= place(i) + window.upper) ++end;
  }

  std::vector<double> places_of(bool dates, Held& held) {
    held.add(count() * sizeof(double));
    std::vector<double> places;
    places.reserve(count());
    for (size_t i = 0; i < count(); ++i) {
      frame_.work_on(entry(i).document.size());
      const ValueView value = bson::value_at(entry(i).document, plan_.sort_path);
      if (dates) {
        if (value.type() != bson::Type::date)
          refuse(5429513, "Invalid range: Expected the sortBy field to be a Date, but it was " + type_of(value));
        places.push_back(static_cast<double>(value.as_date().ms));
      } else {
        if (!value.is_number())
          refuse(5429414, "Invalid range: Expected the sortBy field to be a number, but it was " + type_of(value));
        places.push_back(value.to_double());
      }
    }
    return places;
  }

  const Plan& plan_;
  Frame frame_;
  bool read_ = false;
  exec::Sorter sorter_;
  bool more_ = false;
  exec::SortEntry ahead_;  // the first of the next partition, if there is `more_`
  MemoryBudget& memory_;
  Held held_;                             // of the current partition: its documents, and what is computed
  std::vector<exec::SortEntry> entries_;  // the current partition
  size_t at_ = 0;
  std::vector<std::vector<Value>> results_;
  bson::Document out_;
};

// --- parsing

[[noreturn]] void malformed(const std::string& message) {
  refuse(ErrorCode::failed_to_parse, message);
}

double bound_of(const Element& bound, double at_word, bool whole) {
  if (bound.is_string()) {
    if (bound.as_string() == "unbounded") return at_word;
    if (bound.as_string() == "current") return 0;
    malformed("Window bounds must be 'unbounded', 'current', or a number.");
  }
  if (!bound.is_number()) malformed("Window bounds must be 'unbounded', 'current', or a number.");
  const double distance = bound.to_double();
  if (std::isnan(distance) || (whole && distance != std::trunc(distance)))
    malformed("Numeric document-based bounds must be an integer");
  return distance;
}

DateUnit unit_of(const Element& unit) {
  if (!unit.is_string()) malformed("'unit' must be a string");
  return date_unit(unit.as_string());
}

// Returns the length of the unit in which rates are counted.
int64_t milliseconds_of(const Element& unit) {
  const DateUnit given = unit_of(unit);
  if (months_per(given) > 0) refuse(5490704, "unit must be 'week' or smaller");
  return fixed_length(given).count();
}

void set_unit(DateUnit unit, Window& window) {
  for (const double bound : {window.lower, window.upper}) {
    const bool whole = bound == std::trunc(bound) && std::fabs(bound) < 0x1p63;
    if (!std::isinf(bound) && !whole) malformed("With 'unit', range-based bounds must be an integer");
  }
  window.dates = true;
  if (months_per(unit) > 0) {
    window.calendar = unit;
    return;
  }
  const auto ms = static_cast<double>(fixed_length(unit).count());
  window.lower *= window.lower == 0 ? 1 : ms;
  window.upper *= window.upper == 0 ? 1 : ms;
}

Window parse_window(const Element& specification, const Plan& plan) {
  if (!specification.is_object()) malformed("'window' field must be an object");
  const DocumentView fields = specification.as_document();
  const Element documents = fields["documents"], range = fields["range"], unit = fields["unit"];
  for (const Element& field : fields) {
    if (field.name != "documents" && field.name != "range" && field.name != "unit") {
      malformed("'window' field can only contain 'documents' as the only argument or 'range' with an optional 'unit' field");
    }
  }
  if (documents.exists() == range.exists() || (documents.exists() && unit.exists())) {
    malformed("'window' field can only contain 'documents' as the only argument or 'range' with an optional 'unit' field");
  }
  const Element& bounds = documents.exists() ? documents : range;
  if (!bounds.is_array() || bounds.as_document().count() != 2)
    malformed("Window bounds must be a 2-element array: " + std::string(bounds.name));
  Window window;
  window.by_range = range.exists();
  auto bound = bounds.as_document().begin();
  window.lower = bound_of(*bound, -unbounded, !window.by_range);
  ++bound;
  window.upper = bound_of(*bound, unbounded, !window.by_range);
  if (window.lower > window.upper) refuse(5339900, "Lower bound must not exceed upper bound");
  const bool bounded = window.lower != -unbounded || window.upper != unbounded;
  if (!window.by_range) {
    if (bounded && plan.sort.empty()) refuse(5339901, "Document-based bounds require a sortBy");
    return window;
  }
  if (plan.sort.fields().size() != 1 || plan.sort.fields()[0].descending)
    refuse(5339902, "Range-based bounds require sortBy a single field, ascending");
  if (unit.exists()) set_unit(unit_of(unit), window);
  return window;
}

void parse_rank(const Element& function, bool windowed, const Plan& plan, Kind kind, Output& output) {
  if (!function.is_object() || !function.as_document().empty())
    refuse(5371603, std::string(function.name) + " must be specified with '{}' as the value");
  if (windowed) refuse(5371601, "Rank style window functions take no other arguments");
  const size_t fields = plan.sort.fields().size();
  if (fields == 0 || (kind != Kind::document_number && fields != 1)) {
    refuse(5371602,
           std::string(function.name) + " must be specified with a top level sortBy expression with exactly one element");
  }
  output.kind = kind;
}

void parse_shift(const Element& function, bool windowed, const Plan& plan, PipelineContext& context, Output& output) {
  if (windowed) malformed("$shift does not accept a 'window' field");
  if (plan.sort.empty()) malformed("'$shift' requires a sortBy");
  if (!function.is_object()) malformed("Argument to $shift must be an object");
  const DocumentView fields = function.as_document();
  for (const Element& field : fields) {
    if (field.name != "output" && field.name != "by" && field.name != "default") malformed("Unknown argument in $shift");
  }
  if (!fields.has("output") || !fields.has("by")) malformed("$shift requires an 'output' expression and an integer 'by'");
  const auto by = fields["by"].is_number() ? bson::number::exact_int64(fields["by"]) : std::nullopt;
  if (!by || *by > INT32_MAX || *by < INT32_MIN)
    malformed("'$shift:by' field must be an integer, but found " + type_of(fields["by"]));
  output.kind = Kind::shift;
  output.by = *by;
  output.input = parse_expression(fields["output"], context.scope);
  if (const Element otherwise = fields["default"]; otherwise.exists()) {
    auto constant = constant_value(otherwise, context.scope);
    if (!constant) malformed("'$shift:default' expression must yield a constant value.");
    output.otherwise = *std::move(constant);
  }
}

void parse_rate(const Element& function, bool windowed, const Plan& plan, PipelineContext& context, Output& output) {
  const std::string name(function.name);
  if (!function.is_object()) malformed("Argument to " + name + " must be an object");
  const DocumentView fields = function.as_document();
  for (const Element& field : fields) {
    if (field.name != "input" && field.name != "unit") malformed(name + " got unexpected argument: " + std::string(field.name));
  }
  if (!fields.has("input")) malformed(name + " requires an 'input' expression");
  if (plan.sort.fields().size() != 1) malformed(name + " requires a sortBy with exactly one element");
  if (name == "$derivative" && !windowed) malformed("$derivative requires explicit window bounds");
  output.kind = name == "$derivative" ? Kind::derivative : Kind::integral;
  output.input = parse_expression(fields["input"], context.scope);
  if (const Element unit = fields["unit"]; unit.exists()) output.unit_ms = milliseconds_of(unit);
}

// An argument that isn't an array of two may still evaluate to one.
void parse_covariance(const Element& function, PipelineContext& context, Output& output) {
  output.kind = function.name == "$covariancePop" ? Kind::covariance_pop : Kind::covariance_samp;
  if (!function.is_array() || function.as_document().count() != 2) {
    output.input = parse_expression(function, context.scope);
    return;
  }
  output.input = parse_expression(function.as_document()["0"], context.scope);
  output.other = parse_expression(function.as_document()["1"], context.scope);
}

void parse_moving_average(const Element& function, bool windowed, const Plan& plan, PipelineContext& context, Output& output) {
  const char* shape =
      "$expMovingAvg must have exactly one argument that is an object with an 'input' and either an 'N' field or an 'alpha' "
      "field";
  if (!function.is_object()) malformed(shape);
  if (windowed) malformed("$expMovingAvg does not accept a 'window' field");
  if (plan.sort.empty()) malformed("$expMovingAvg requires an explicit 'sortBy'");
  const DocumentView fields = function.as_document();
  const Element n = fields["N"], alpha = fields["alpha"];
  if (fields.count() != 2 || !fields.has("input") || n.exists() == alpha.exists()) malformed(shape);
  if (n.exists()) {
    const auto whole = n.is_number() ? bson::number::exact_int64(n) : std::nullopt;
    if (!whole) malformed("'N' field must be an integer, but found type " + type_of(n));
    if (*whole <= 0) malformed("'N' must be greater than zero. Got " + std::to_string(*whole));
    output.alpha = 2 / (static_cast<double>(*whole) + 1);
  } else {
    if (!alpha.is_number() || !(alpha.to_double() > 0 && alpha.to_double() < 1))
      malformed("'alpha' must be between 0 and 1 (exclusive)");
    output.alpha = alpha.to_double();
  }
  output.kind = Kind::moving_average;
  output.input = parse_expression(fields["input"], context.scope);
}

Output parse_output(const Element& field, const Plan& plan, PipelineContext& context) {
  check_field_path(field.name);
  if (!field.is_object()) malformed("The field '" + std::string(field.name) + "' must be an object");
  Output output;
  output.path = field.name;
  Element function, window;
  for (const Element& part : field.as_document()) {
    if (part.name == "window") {
      window = part;
    } else if (part.name.starts_with("$")) {
      if (function.exists())
        malformed("Cannot specify two functions in window function spec, already saw a function: " + std::string(function.name));
      function = part;
    } else {
      malformed("Window function found an unknown argument: " + std::string(part.name));
    }
  }
  if (!function.exists()) malformed("Expected a $-prefixed window function");
  const std::string_view name = function.name;
  if (name == "$rank") return parse_rank(function, window.exists(), plan, Kind::rank, output), output;
  if (name == "$denseRank") return parse_rank(function, window.exists(), plan, Kind::dense_rank, output), output;
  if (name == "$documentNumber") return parse_rank(function, window.exists(), plan, Kind::document_number, output), output;
  if (name == "$shift") return parse_shift(function, window.exists(), plan, context, output), output;
  if (name == "$locf") {
    if (window.exists()) malformed("'window' field is not allowed in $locf");
    output.kind = Kind::locf;
    output.input = parse_expression(function, context.scope);
    return output;
  }
  if (name == "$derivative" || name == "$integral") {
    if (window.exists()) output.window = parse_window(window, plan);
    return parse_rate(function, window.exists(), plan, context, output), output;
  }
  if (name == "$covariancePop" || name == "$covarianceSamp") {
    if (window.exists()) output.window = parse_window(window, plan);
    return parse_covariance(function, context, output), output;
  }
  if (name == "$expMovingAvg") return parse_moving_average(function, window.exists(), plan, context, output), output;
  if (name == "$linearFill") {
    if (window.exists()) malformed("'window' field is not allowed in $linearFill");
    if (plan.sort.fields().size() != 1)
      refuse(605001, "$linearFill must be specified with a top level sortBy expression with exactly one element");
    output.kind = Kind::line;
    output.input = parse_expression(function, context.scope);
    return output;
  }
  if (!accumulator_form(name)) malformed("Unrecognized window function, " + std::string(name));
  bson::Builder accumulator;
  {
    bson::Builder inner = accumulator.object("f");
    inner.append_element(function);
  }
  output.field = parse_accumulated_field(accumulator.done().view().first(), context);
  if (window.exists()) output.window = parse_window(window, plan);
  return output;
}

// No output may lie within another.
void check_paths(const Plan& plan) {
  std::vector<std::string> paths;
  for (const Output& output : plan.outputs) paths.push_back(output.path + ".");
  std::sort(paths.begin(), paths.end());
  for (size_t i = 1; i < paths.size(); ++i) {
    if (paths[i].starts_with(paths[i - 1]))
      refuse(6307900, "$setWindowFields 'output' specification contains two conflicting paths");
  }
}

}  // namespace

StageSpecPtr parse_set_window_fields(const Element& specification, PipelineContext& context) {
  if (!specification.is_object())
    malformed("the $setWindowFields stage specification must be an object, found " + type_of(specification));
  const DocumentView fields = specification.as_document();
  Plan plan;
  for (const Element& field : fields) {
    if (field.name == "partitionBy") {
      plan.partition_by = parse_expression(field, context.scope);
    } else if (field.name == "sortBy") {
      if (!field.is_object()) {
        refuse(ErrorCode::type_mismatch,
               "BSON field '$setWindowFields.sortBy' is the wrong type '" + type_of(field) + "', expected type 'object'");
      }
      if (field.as_document().empty()) continue;
      plan.sort = SortPattern::parse(field.as_document(), context.scope.collator());
      plan.sort_path = plan.sort.fields()[0].path;
    } else if (field.name != "output") {
      refuse(40415, "BSON field '$setWindowFields." + std::string(field.name) + "' is an unknown field.");
    }
  }
  const Element output = fields["output"];
  if (!output.exists()) refuse(40414, "BSON field '$setWindowFields.output' is missing but a required field");
  if (!output.is_object()) {
    refuse(ErrorCode::type_mismatch,
           "BSON field '$setWindowFields.output' is the wrong type '" + type_of(output) + "', expected type 'object'");
  }
  for (const Element& field : output.as_document()) plan.outputs.push_back(parse_output(field, plan, context));
  check_paths(plan);
  return make_spec(specification, [plan = std::move(plan)](StagePtr source, PipelineContext& running) -> StagePtr {
    return std::make_unique<SetWindowFields>(std::move(source), plan, running);
  });
}

}  // namespace server::query
