// Bounds are what a predicate says about the keys of an index on its path.
//
// Bounds contain every key through which a matching document can be found: bounds
// that are too wide are slow, too narrow ones are wrong. `exact`: a key within the
// bounds proves by itself that its document fulfils the predicate, so nothing is
// left to check.
#pragma once

#include <optional>
#include <string_view>

#include "bson/collator.h"
#include "server/query/match/node.h"
#include "server/query/plan/interval.h"

namespace geo {
struct IndexOptions;
}

namespace server::query::plan {

struct Bounds {
  Intervals intervals;
  bool exact = false;
};

// A KeyForm says how the keys of an index hold the values of one field: strings as the collation's sort keys, or all values as
// hashes.
struct KeyForm {
  const bson::Collator* collator = nullptr;
  bool hashed = false;
  const geo::IndexOptions* geo = nullptr;  // of a field that holds locations
  bool leaves = false;  // of a wildcard: objects have no keys, unless they are empty, and missing fields have none
};

// Returns nullopt if the node says nothing about `path`. `multikey`: documents may have several keys, so different ones may
// fulfil two predicates.
//
// The bounds are in the form of the keys. A predicate of another collation says nothing about the keys, unless its values have no
// strings; and only equality says something about hashes.
std::optional<Bounds> bounds_of(const match::Node& node, std::string_view path, bool multikey, const KeyForm& keys,
                                Allowance& allowance);

// Returns true if a document without a value at `path` can fulfil it: a sparse index on it doesn't have all answers.
bool matches_missing(const match::Node& node, std::string_view path, Allowance& allowance);

}  // namespace server::query::plan
