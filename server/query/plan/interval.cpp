#include "server/query/plan/interval.h"

#include <algorithm>
#include <limits>

#include "bson/builder.h"
#include "bson/compare.h"
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
  std::erase_if(intervals, [](const Interval& interval) { return interval.empty(); });
  std::sort(intervals.begin(), intervals.end(), [](const Interval& a, const Interval& b) { return compare_lows(a, b) < 0; });
  Intervals joined;
  for (Interval& interval : intervals) {
    const bool overlap = !joined.empty() && touches(joined.back(), interval);
    if (!overlap) {
      joined.push_back(std::move(interval));
    } else if (compare_highs(joined.back(), interval) < 0) {
      joined.back().high = interval.high;
      joined.back().high_included = interval.high_included;
    }
  }
  return joined;
}

Intervals unite(Intervals a, const Intervals& b) {
  a.insert(a.end(), b.begin(), b.end());
  return normalize(std::move(a));
}

Intervals intersect(const Intervals& a, const Intervals& b) {
  Intervals common;
  for (const Interval& x : a) {
    for (const Interval& y : b) {
      Interval both = x;
      if (compare_lows(x, y) < 0) both.low = y.low, both.low_included = y.low_included;
      if (compare_highs(x, y) > 0) both.high = y.high, both.high_included = y.high_included;
      common.push_back(std::move(both));
    }
  }
  return normalize(std::move(common));
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
