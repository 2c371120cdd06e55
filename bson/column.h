// A compressed column is binary data of subtype 7: a series of values of which some may be missing. MongoDB's time series have
// their measurements in such columns. It is a sequence of
//
//   a literal       | type | 00 | value |       the next value; the type is 01 … 13, 7f or ff
//   packed deltas   | 8S … dS | words |         S + 1 words of Simple-8b (simple8b.h), with a value for each slot
//   objects         | f0, f1 or f2 | object | …the series of their fields… | 00 |
//   the end         | 00 |
//
// A delta is the difference to the value before, with its sign in the lowest bit. A skipped slot is a missing value. How a value
// is a number:
//
//   int32, int64, boolean       itself, of 64 bits
//   date, timestamp, ObjectId   likewise, but the deltas are those of deltas; an ObjectId's time and counter are taken in turn
//   double                      its bits (control byte 8S), or the double times 1, 10, 100, 10^4, 10^8 (9S … dS)
//   string, code                up to 16 bytes as a big-endian number of 128 bits
//   binary, decimal             up to 16 bytes as a little-endian one; binary data keeps its length and subtype
//   others                      have only deltas of 0
//
// Objects have one series for each field that is no object (f1, f2: and no array), in the order of the example that comes first
// and has every field. The series read their literals and words in turn, whenever they have none left. f2: the values are arrays.
#pragma once

#include <functional>

#include "bson/value.h"

namespace bson {

inline constexpr uint8_t column_subtype = 7;

// Bounds what a column may become, since a few bytes can stand for very many.
struct ColumnBudget {
  size_t values_max = 0;  // of one column, missing ones included
  size_t bytes_left = 0;  // of values; what is read is taken off
};

// Calls `each` for every value that is there, with its place in the column, and returns how many places there are. Throws
// OperationError for bytes that are no column: BadValue, or InvalidBSON for a damaged value within it; and BSONObjectTooLarge
// when the budget is spent.
size_t read_column(BytesView column, ColumnBudget& budget, const std::function<void(size_t place, const ValueView& value)>& each);

}  // namespace bson
