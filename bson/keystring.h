// Key strings: values as bytes that memcmp orders as bson::compare orders the
// values. What index tables are keyed with.
#pragma once

#include <vector>

#include "bson/document.h"

namespace bson {

// Appends values one after the other; each may be descending (its bytes inverted).
// Equal numbers of different types give equal bytes: the type is not recoverable.
class KeyString {
 public:
  KeyString& append(const ValueView& value, bool descending = false);

  // Ends the key so that it sorts before (-1) or after (+1) every key that
  // begins with the same values: for the ends of ranges.
  KeyString& append_before();
  KeyString& append_after();

  const Bytes& bytes() const& { return bytes_; }
  Bytes&& bytes() && { return std::move(bytes_); }
  void clear() { bytes_.clear(); }

 private:
  Bytes bytes_;
};

// The smallest and the largest key of a type's bracket, as values: what
// {$lt: 5} means below is "numbers only". `min` is inclusive, `max` exclusive
// unless max_inclusive.
struct Bracket {
  Bytes min;
  Bytes max;
};
Bracket type_bracket(Type type, bool descending = false);

}  // namespace bson
