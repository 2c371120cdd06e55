// What a predicate says about the keys of an index on its path.
//
// Bounds hold every key through which a matching document can be found: too many
// is slow, too few is wrong. `exact`: a key in bounds is itself proof that
// its document fulfils the predicate, so nothing is left to check.
#pragma once

#include <optional>
#include <string_view>

#include "server/query/match/node.h"
#include "server/query/plan/interval.h"

namespace server::query::plan {

struct Bounds {
  Intervals intervals;
  bool exact = false;
};

// nullopt: the node says nothing about `path`. `multikey`: documents may have several
// keys, so two predicates may be fulfilled by different ones.
std::optional<Bounds> bounds_of(const match::Node& node, std::string_view path, bool multikey);

// A document that has nothing at `path` can fulfil it: a sparse index on it doesn't have all answers.
bool matches_missing(const match::Node& node, std::string_view path);

}  // namespace server::query::plan
