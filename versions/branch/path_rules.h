// Rules for fields that both sides of a merge changed: what they changed can be put together.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "bson/value.h"

namespace versions {

struct PathRule {
  enum class Kind : uint8_t {
    sum,  // numbers: both changes count
    max,  // the larger of the two
    min,
    union_,  // arrays as sets: what either added is in, what either removed is out
    append,  // arrays that both added to behind: ours, then theirs
    by_key,  // arrays of objects that a field of theirs tells apart: each merged as a document is
    ours,
    theirs,
  };
  Kind kind = Kind::ours;
  std::string key = {};  // by_key: the field
};

// By path, with dots between names. Elements of an array with `by_key` have the array's path.
using PathRules = std::map<std::string, PathRule, std::less<>>;

// What one field becomes whose sides differ from the base; all kinds but by_key, ours and theirs. A side that has no such field
// is missing (type eod); missing: the rule has no answer, as where a sum is not of numbers.
bson::Value put_together(PathRule::Kind kind, const bson::ValueView& base, const bson::ValueView& ours,
                         const bson::ValueView& theirs);

}  // namespace versions
