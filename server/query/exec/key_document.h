// A document made of what an index entry tells of it.
#pragma once

#include <optional>
#include <vector>

#include "bson/document.h"
#include "storage/indexes/index.h"

namespace server::query::exec {

// Those fields of the index that are `wanted`, in its order, each in the objects that its path goes through:
//
//   {a: 1, "b.c": -1, "b.d": 1}    (5, null, missing)   ->   {a: 5, b: {c: null}}
//
// None of the wanted ones has an array on its path, or lies in another. nullopt: the types don't tell the values, or the key is
// damaged.
std::optional<bson::Document> read_values(const storage::IndexSpec& spec, bson::BytesView key, bson::BytesView types,
                                          const std::vector<bool>& wanted);

}  // namespace server::query::exec
