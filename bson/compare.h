// MongoDB's order over values of any type.
//
// Types first (MinKey, missing, null, numbers, strings, objects, arrays, binary, ObjectId,
// booleans, dates, timestamps, regexes, DBPointer, code, code with scope,
// MaxKey), values within a type next; all numbers are one type.
#pragma once

#include "bson/document.h"

namespace bson {

// Equal: 0. Names of fields take part when documents are compared, not when
// values are. undefined sorts before null, missing like undefined's predecessor as in
// MongoDB ($sort treats missing and null alike: the caller passes null then).
int compare(const ValueView& a, const ValueView& b);
int compare(DocumentView a, DocumentView b);  // field by field: type, name, value

inline bool equal(const ValueView& a, const ValueView& b) { return compare(a, b) == 0; }

// The rank of a type in that order: equal ranks are comparable with $lt and the like.
int canonical_rank(Type type);

// Equal values (across number types too) have equal hashes.
uint64_t hash_value(const ValueView& value, uint64_t seed = 0);

struct ValueLess {
  using is_transparent = void;
  bool operator()(const ValueView& a, const ValueView& b) const { return compare(a, b) < 0; }
};

}  // namespace bson
