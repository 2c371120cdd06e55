#include "server/query/plan/interval.h"

#include <algorithm>
#include <limits>

#include "bson/builder.h"
#include "bson/compare.h"
#include "server/core/allowance.h"
#include "server/core/text.h"

namespace server::query::plan {

namespace {

using bson::Type;
using bson::Value;
using bson::ValueView;

Value bare(Type type) {
  return Value(ValueView(type, {}));
}

// Orders low ends; an included end comes before an excluded one.
int compare_lows(const Interval& a, const Interval& b) {
  const int order = bson::compare(a.low, b.low);
  return order != 0 ? order : static_cast<int>(b.low_included) - static_cast<int>(a.low_included);
}

int compare_highs(const Interval& a, const Interval& b) {
  const int order = bson::compare(a.high, b.high);
  return order != 0 ? order : static_cast<int>(a.high_included) - static_cast<int>(b.high_included);
}

// Returns whether `next` begins within `last` or right after its end.
bool touches(const Interval& last, const Interval& next) {
  const int order = bson::compare(next.low, last.high);
  return order < 0 || (order == 0 && (next.low_included || last.high_included));
}

// Joins the intervals, which are in the order of their low ends.
Intervals joined(Intervals intervals) {
  Intervals out;
  for (Interval& interval : intervals) {
    const bool overlap = !out.empty() && touches(out.back(), interval);
    if (!overlap) {
      out.push_back(std::move(interval));
    } else if (compare_highs(out.back(), interval) < 0) {
      out.back().high = std::move(interval.high);
      out.back().high_included = interval.high_included;
    }
  }
  return out;
}

void drop_empty(Intervals& intervals) {
  std::erase_if(intervals, [](const Interval& interval) { return interval.empty(); });
}

size_t value_bytes(const Interval& interval) {
  return interval.low.view().bytes().size() + interval.high.view().bytes().size();
}

Value binary(uint8_t subtype) {
  const bson::Document holder = bson::Builder().append("", bson::Binary{subtype, {}}).done();
  return Value(holder.view().first());
}

}  // namespace

Interval Interval::everything() {
  return {bare(Type::min_key), bare(Type::max_key), true, true};
}

bool Interval::is_point() const {
  return low_included && high_included && bson::equal(low, high);
}

bool Interval::is_everything() const {
  return low.type() == Type::min_key && high.type() == Type::max_key;
}

bool Interval::empty() const {
  const int order = bson::compare(low, high);
  return order > 0 || (order == 0 && !(low_included && high_included));
}

bson::Value readable_keys(const ValueView& value) {
  return bson::map_strings(value, [](std::string_view key) { return "CollationKey(0x" + base::to_hex(key) + ")"; });
}

std::string Interval::show(bool sort_keys) const {
  const auto end = [&](const Value& value) {
    // The bracket of all strings begins with the empty one, which is no sort key.
    const bool is_key = value.view().is_string() && !value.view().as_string().empty();
    if (!sort_keys || (value.view().is_string() && !is_key)) return query::show(value.view());
    const Value readable = readable_keys(value);
    return is_key ? std::string(readable.view().as_string()) : query::show(readable.view());
  };
  return (low_included ? "[" : "(") + end(low) + ", " + end(high) + (high_included ? "]" : ")");
}

Intervals everything() {
  return {Interval::everything()};
}

bool is_everything(const Intervals& intervals) {
  return intervals.size() == 1 && intervals.front().is_everything();
}

bool all_points(const Intervals& intervals) {
  return !intervals.empty() && std::all_of(intervals.begin(), intervals.end(), [](const Interval& i) { return i.is_point(); });
}

Intervals normalize(Intervals intervals) {
  drop_empty(intervals);
  std::sort(intervals.begin(), intervals.end(), [](const Interval& a, const Interval& b) { return compare_lows(a, b) < 0; });
  return joined(std::move(intervals));
}

Intervals normalize(Intervals intervals, Allowance& allowance) {
  drop_empty(intervals);
  std::sort(intervals.begin(), intervals.end(), [&](const Interval& a, const Interval& b) {
    allowance.work_on(std::min(a.low.view().bytes().size(), b.low.view().bytes().size()));
    return compare_lows(a, b) < 0;
  });
  allowance.work(intervals.size());
  return joined(std::move(intervals));
}

Intervals unite(Intervals a, const Intervals& b) {
  a.insert(a.end(), b.begin(), b.end());
  return normalize(std::move(a));
}

Intervals intersect(const Intervals& a, const Intervals& b) {
  Intervals common;
  for (auto x = a.begin(), y = b.begin(); x != a.end() && y != b.end();) {
    const Interval& later = compare_lows(*x, *y) < 0 ? *y : *x;
    const bool x_ends_first = compare_highs(*x, *y) < 0;
    const Interval& shorter = x_ends_first ? *x : *y;
    const int order = bson::compare(later.low, shorter.high);
    if (order < 0 || (order == 0 && later.low_included && shorter.high_included))
      common.push_back({later.low, shorter.high, later.low_included, shorter.high_included});
    x_ends_first ? ++x : ++y;
  }
  return common;
}

Intervals intersect(std::vector<Intervals> lists, Allowance& allowance) {
  if (lists.empty()) return everything();
  // Lists are paired in rounds: one after the other, a long list would be copied for each short one.
  while (lists.size() > 1) {
    const size_t pairs = lists.size() / 2;
    for (size_t i = 0; i < pairs; ++i) {
      Intervals &a = lists[2 * i], &b = lists[2 * i + 1];
      allowance.work_on(bytes_of(a) + bytes_of(b));
      Intervals common = intersect(a, b);
      a.clear();
      b.clear();
      lists[i] = std::move(common);
    }
    if (lists.size() % 2 == 1) lists[pairs] = std::move(lists.back());
    lists.resize(pairs + lists.size() % 2);
  }
  return std::move(lists.front());
}

size_t bytes_of(const Intervals& intervals) {
  size_t bytes = intervals.size() * sizeof(Interval);
  for (const Interval& interval : intervals) bytes += value_bytes(interval);
  return bytes;
}

Intervals complement(const Intervals& intervals) {
  Intervals gaps;
  Interval gap = Interval::everything();
  for (const Interval& interval : intervals) {
    gap.high = interval.low;
    gap.high_included = !interval.low_included;
    gaps.push_back(gap);
    gap.low = interval.high;
    gap.low_included = !interval.high_included;
  }
  gap.high = bare(Type::max_key);
  gap.high_included = true;
  gaps.push_back(gap);
  return normalize(std::move(gaps));
}

Intervals bracket(Type type) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const auto between = [](Value low, Value high, bool high_included) {
    return Intervals{{std::move(low), std::move(high), true, high_included}};
  };
  switch (type) {
    case Type::number_double:
    case Type::int32:
    case Type::int64:
    case Type::decimal128: return between(Value(-infinity), Value(infinity), true);
    case Type::string:
    case Type::symbol: return between(Value(""), Value(bson::DocumentView()), false);
    case Type::object: return between(Value(bson::DocumentView()), Value::array(bson::DocumentView()), false);
    case Type::binary: return between(binary(0), Value(bson::ObjectId()), false);
    case Type::object_id: {
      bson::ObjectId last;
      last.bytes.fill(0xff);
      return between(Value(bson::ObjectId()), Value(last), true);
    }
    case Type::boolean: return between(Value(false), Value(true), true);
    case Type::date: return between(Value(bson::Date{INT64_MIN}), Value(bson::Date{INT64_MAX}), true);
    case Type::timestamp: return between(Value(bson::Timestamp{0, 0}), Value(bson::Timestamp{UINT32_MAX, UINT32_MAX}), true);
    case Type::null:
    case Type::undefined:
    case Type::min_key:
    case Type::max_key: return {Interval::point(ValueView(type, {}))};
    default: return {};
  }
}

}  // namespace server::query::plan
