// These rules combine the changes of both sides of a merge to one field.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "bson/value.h"
#include "versions/branch/pace.h"

namespace versions {

struct PathRule {
  enum class Kind : uint8_t {
    sum,  // numbers: both changes count
    max,  // the larger of the two
    min,
    union_,  // arrays as sets: has what either side added, and lacks what either removed
    append,  // arrays to whose ends both sides added: ours come first, then theirs
    by_key,  // arrays of objects that one of their fields tells apart: each object is merged as a document is
    ours,
    theirs,
  };
  Kind kind = Kind::ours;
  std::string key = {};  // by_key: the name of that field
};

// Rules are keyed by path, with dots between names. The elements of an array with `by_key` have the array's path.
using PathRules = std::map<std::string, PathRule, std::less<>>;

// Returns the field's value if both sides differ from the base, for all kinds but by_key, ours and theirs. A side that has no
// such field is missing (type eod). A missing result means that the rule doesn't apply, as when a sum isn't of numbers.
bson::Value put_together(PathRule::Kind kind, const bson::ValueView& base, const bson::ValueView& ours,
                         const bson::ValueView& theirs, Pace& pace);

}  // namespace versions
