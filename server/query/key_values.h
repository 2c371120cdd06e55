// A document has values under several paths at once: it is sorted by them, and an
// index over those paths has them as its keys.
//
// Arrays are fanned out, an element at a time for all paths that lead through the
// same array. A missing value gives null, an empty array undefined.
//
//   a, b.c   {a: 1, b: [{c: 2}, {c: 3}]}    (1, 2) (1, 3)
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "bson/document.h"

namespace server::query {

using KeyVisitor = std::function<void(std::span<const bson::ValueView> values)>;

// Returns false, and visits nothing more, if two paths lead through different arrays.
bool visit_keys(bson::DocumentView document, std::span<const std::string_view> paths, const KeyVisitor& visitor);

}  // namespace server::query
