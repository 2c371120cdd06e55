// Index bounds are sets of intervals of values.
#pragma once

#include <string>
#include <vector>

#include "bson/value.h"

namespace server {
class Allowance;
}

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
  bool empty() const;  // it contains no value
  // Shows "[1, 5)". In an index with a collation, strings are sort keys: "[CollationKey(0x29), {})".
  std::string show(bool sort_keys = false) const;
};

// Ascending, disjoint, and none is empty.
using Intervals = std::vector<Interval>;

Intervals everything();
bool is_everything(const Intervals& intervals);
bool all_points(const Intervals& intervals);

// Returns about how many bytes they keep.
size_t bytes_of(const Intervals& intervals);

// Sorts any intervals and joins them.
Intervals normalize(Intervals intervals);
// The same for many, whose work is accounted.
Intervals normalize(Intervals intervals, Allowance& allowance);
Intervals unite(Intervals a, const Intervals& b);
// Returns at most as many intervals as both have together, in time that grows with their number.
Intervals intersect(const Intervals& a, const Intervals& b);
// Returns what all of them have in common; everything, if there are none. The time grows with the number of all intervals and the
// logarithm of the number of lists.
Intervals intersect(std::vector<Intervals> lists, Allowance& allowance);
Intervals complement(const Intervals& intervals);

// Returns the value with its sort keys in hexadecimal digits, which a client can read.
bson::Value readable_keys(const bson::ValueView& value);

// Returns all values of a type's bracket; nothing for types whose ends no value names.
Intervals bracket(bson::Type type);

}  // namespace server::query::plan
