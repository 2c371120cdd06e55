// This is MongoDB's order over values of any type.
//
// Types come first (MinKey, missing and undefined, null, numbers, strings and symbols, objects, arrays, binary, ObjectId,
// booleans, dates, timestamps, regexes, DBPointer, code, code with scope, MaxKey), and values within a type next; all numbers are
// one type, compared exactly.
#pragma once

#include "bson/collator.h"
#include "bson/document.h"

namespace bson {

// Returns a negative number, zero or a positive one. NaN equals itself and is below every number; -0 equals 0. Missing equals
// undefined and is below null ($sort treats missing as null, so its caller passes null).
int compare(const ValueView& a, const ValueView& b);
int compare(DocumentView a, DocumentView b);         // field by field: type's rank, name, value
int compare_arrays(DocumentView a, DocumentView b);  // compares element by element, without the names

// Does the same, with strings and symbols in the order of a collation; nullptr: none.
int compare_collated(const ValueView& a, const ValueView& b, const Collator& collator);
inline int compare(const ValueView& a, const ValueView& b, const Collator* collator) {
  return collator ? compare_collated(a, b, *collator) : compare(a, b);
}

inline bool equal(const ValueView& a, const ValueView& b, const Collator* collator = nullptr) {
  return compare(a, b, collator) == 0;
}

// Returns the rank of a type in that order. $lt and the like compare only values whose types have equal ranks.
int canonical_rank(Type type);

// Equal values (across number types too, and by the collation) have equal hashes.
uint64_t hash_value(const ValueView& value, uint64_t seed = 0, const Collator* collator = nullptr);

struct ValueLess {
  using is_transparent = void;
  const Collator* collator = nullptr;
  bool operator()(const ValueView& a, const ValueView& b) const { return compare(a, b, collator) < 0; }
};

struct ValueEqual {
  using is_transparent = void;
  const Collator* collator = nullptr;
  bool operator()(const ValueView& a, const ValueView& b) const { return compare(a, b, collator) == 0; }
};

struct ValueHash {
  using is_transparent = void;
  const Collator* collator = nullptr;
  size_t operator()(const ValueView& value) const { return hash_value(value, 0, collator); }
};

}  // namespace bson
