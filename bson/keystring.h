// Key strings: values as bytes that memcmp orders as bson::compare orders the
// values. What index tables are keyed with.
//
//   value        | kind | body |                      no value's bytes begin another's
//   number       number_key.h
//   string       | kind | text, 00 -> 01 01, 01 -> 01 02 | 00 |
//   object       | kind | kind of type, name 00, value | … | 00 |
//   array        | kind | value | … | 00 |
//   binary       | kind | length | subtype, bytes |
//   descending   every byte inverted
//
// Since each value ends by itself, a key may be followed by anything of fixed
// length (a record id) and still be taken apart from the end.
#pragma once

#include "bson/document.h"

namespace bson {

// Appends values one after the other; each may be descending (its bytes inverted).
// Equal numbers of different types give equal bytes: which it was, key_types.h says.
class KeyString {
 public:
  KeyString& append(const ValueView& value, bool descending = false);

  // Ends the key so that it sorts before (or equal) or after every key that begins with the same
  // values, and up to 8 bytes behind them: for the ends of ranges.
  KeyString& append_before();
  KeyString& append_after();

  const Bytes& bytes() const& { return bytes_; }
  Bytes&& bytes() && { return std::move(bytes_); }
  void clear() { bytes_.clear(); }

 private:
  Bytes bytes_;
};

// What {$lt: 5} means below is "numbers only": every key of a value comparable with this type
// lies in [min, max). NaN counts among the numbers here, though $lt does not find it.
struct Bracket {
  Bytes min;
  Bytes max;
};
Bracket type_bracket(Type type, bool descending = false);

}  // namespace bson
