// Index bounds are sets of intervals of values.
#pragma once

#include <string>
#include <vector>

#include "bson/value.h"

namespace server::query::plan {

struct Interval {
  bson::Value low;
  bson::Value high;
  bool low_included = true;
  bool high_included = true;

  static Interval point(const bson::ValueView& value) { return {bson::Value(value), bson::Value(value), true, true}; }
  static Interval everything();

  bool is_point() const;
  bool is_everything() const;
  bool empty() const;        // it contains no value
  std::string show() const;  // "[1, 5)"
};

// Ascending, disjoint, and none is empty.
using Intervals = std::vector<Interval>;

Intervals everything();
bool is_everything(const Intervals& intervals);
bool all_points(const Intervals& intervals);

// Sorts any intervals and joins them.
Intervals normalize(Intervals intervals);
Intervals unite(Intervals a, const Intervals& b);
Intervals intersect(const Intervals& a, const Intervals& b);
Intervals complement(const Intervals& intervals);

// Returns all values of a type's bracket; nothing for types whose ends no value names.
Intervals bracket(bson::Type type);

}  // namespace server::query::plan
