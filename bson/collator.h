// A Collator compares strings by the rules of a language, with ICU.
//
//   {locale: "en", strength: 2}    "cafe" < "Café" is false both ways round at strength 1, and "a" equals "A"
//
// Without one (a null pointer) strings are compared as bytes. Everything that compares values takes a collator, which compares
// strings and symbols, also those within objects and arrays.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "base/bytes.h"
#include "bson/builder.h"
#include "bson/value.h"

struct UCollator;

namespace bson {

// Immutable and thread-safe.
class Collator {
 public:
  // `specification` is in the normal form, and says what `collator` does. Takes ownership.
  Collator(UCollator* collator, Document specification);
  ~Collator();
  Collator(const Collator&) = delete;
  Collator& operator=(const Collator&) = delete;

  int compare(std::string_view a, std::string_view b) const;
  // Appends the text's sort key: keys compare as bytes as the texts do, and equal texts have equal keys. It contains no NUL.
  void append_key(Bytes& out, std::string_view text) const;

  // Returns {locale, caseLevel, …, version} with every field.
  DocumentView specification() const { return specification_; }

 private:
  UCollator* const collator_;
  const Document specification_;
};

// nullptr: bytes are compared.
using CollatorPtr = std::shared_ptr<const Collator>;

// Returns whether both compare alike; either may be nullptr.
inline bool same_collation(const Collator* a, const Collator* b) {
  return a == b || (a && b && a->specification().bytes() == b->specification().bytes());
}

// Returns whether a collation can matter to values of this type: strings, and what may contain them.
constexpr bool is_collatable(Type type) {
  return type == Type::string || type == Type::symbol || type == Type::object || type == Type::array;
}

// Returns the value with another string in place of each string and symbol in it.
Value map_strings(const ValueView& value, const std::function<Bytes(std::string_view)>& map);

// Puts the sort key in place of each string: comparing such values as bytes is comparing the values by the collation.
Value collated(const ValueView& value, const Collator& collator);

}  // namespace bson
