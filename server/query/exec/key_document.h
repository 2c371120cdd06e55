// A covered query makes documents from the values in index entries.
#pragma once

#include <optional>
#include <vector>

#include "bson/document.h"
#include "storage/indexes/index.h"

namespace server::query::exec {

// Returns the `wanted` fields of the index, in its order, each in the objects that its path goes through:
//
//   {a: 1, "b.c": -1, "b.d": 1}    (5, null, missing)   ->   {a: 5, b: {c: null}}
//
// No wanted field has an array on its path, or lies in another. Returns nullopt if the types don't determine the values, or the
// key is damaged.
std::optional<bson::Document> read_values(const storage::IndexSpec& spec, bson::BytesView key, bson::BytesView types,
                                          const std::vector<bool>& wanted);

}  // namespace server::query::exec
