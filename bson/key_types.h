// KeyTypes records the types that a key string loses, so that an index entry alone gives its values back.
//
// 5, 5.0 and NumberLong(5) have one key, null and a missing field too. Types beside a key say which of them it was: two bits for
// each number and each null at the top, in their order, the first in the lowest bits of the first byte.
//
//   number   0 the usual type: int32 where it fits, else int64 where it is whole and fits, else double;  1 int64;  2 double
//   null     0 null;  1 missing;  2 missing in an object that is there ({a: {}} under "a.b")
//
// Trailing zeroes are left out, so that most keys need no types at all. Where these bits don't say all (decimals, -0.0, other
// NaNs than the usual one, symbols …) the types are one byte, 03, and only the document has the values.
#pragma once

#include <optional>

#include "bson/builder.h"

namespace bson {

class KeyTypes {
 public:
  // Adds the next value of the key, as KeyString::append took it.
  void add(const ValueView& value);
  // Adds a null that stands in the key because the field is missing. The first `parents` components of its path are objects.
  void add_missing(size_t parents);
  // Returns the types that were added since the last call.
  Bytes take();

 private:
  void code(uint8_t bits);
  void add_number(const ValueView& value);
  void add_fields(DocumentView fields, bool array);

  Bytes bytes_;
  size_t codes_ = 0;
  bool untold_ = false;
};

// Tells whether a key with these types can be read.
bool has_values(BytesView types);

// A KeyReader reads the values of a key one after the other. Damaged bytes turn `ok` false, and it stays so.
class KeyReader {
 public:
  KeyReader(BytesView key, BytesView types) : key_(key), types_(types), ok_(has_values(types)) {}

  // Appends the next value to `out`; a missing one appends nothing and returns how many components of its path are there.
  std::optional<size_t> next(bool descending, std::string_view name, Builder& out);
  bool ok() const { return ok_; }
  // Returns the number of the key's bytes that were read.
  size_t read() const { return at_; }

 private:
  void value(std::string_view name, Builder& out);
  void number(uint8_t kind, std::string_view name, Builder& out);
  void whole_number(int bytes, bool negative, std::string_view name, Builder& out);
  void fields(Builder& out);
  void elements(Builder& out);
  double truncated(bool negative);
  std::string text();
  std::string_view cstring();
  size_t length();
  Bytes taken(size_t bytes);
  uint8_t byte();
  uint64_t big_endian(size_t bytes, bool inverted);
  uint8_t code();

  BytesView key_;
  BytesView types_;
  size_t at_ = 0;
  size_t codes_ = 0;
  uint8_t flip_ = 0;
  int depth_ = 0;
  bool ok_;
  Bytes held_;
};

}  // namespace bson
