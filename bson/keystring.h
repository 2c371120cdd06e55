// A key string is values as bytes that memcmp orders as bson::compare orders the values. Index tables are keyed with
// them.
//
//   value        | kind | body |                      no value's bytes begin another's
//   number       number_key.h
//   string       | kind | text, 00 -> 01 01, 01 -> 01 02 | 00 |
//   object       | kind | kind of type, name 00, value | … | 00 |
//   array        | kind | value | … | 00 |
//   binary       | kind | length | subtype, bytes |
//   collated     a string is its sort key (collator.h), also within objects and arrays
//   descending   every byte inverted
//
// Since each value ends by itself, a key may be followed by anything of fixed
// length (a record id) and still be taken apart from the end.
#pragma once

#include "bson/collator.h"
#include "bson/document.h"

namespace bson {

// Appends values one after the other; each may be descending (its bytes inverted). Equal numbers of different types give equal
// bytes; key_types.h keeps which type it was.
class KeyString {
 public:
  KeyString& append(const ValueView& value, bool descending = false, const Collator* collator = nullptr);

  // Ends the key so that it sorts before (or equal to), or after, every key that begins with the same values and has up to 8
  // bytes behind them. Ends of ranges need this.
  KeyString& append_before();
  KeyString& append_after();

  const Bytes& bytes() const& { return bytes_; }
  Bytes&& bytes() && { return std::move(bytes_); }
  void clear() { bytes_.clear(); }

 private:
  Bytes bytes_;
};

// Returns the bounds [min, max) of all keys of values that are comparable with this type: {$lt: 5} looks at numbers only. NaN
// counts among the numbers here, though $lt doesn't find it.
struct Bracket {
  Bytes min;
  Bytes max;
};
Bracket type_bracket(Type type, bool descending = false);

}  // namespace bson
