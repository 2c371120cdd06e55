// The difference between two versions of a document, in the form MongoDB writes
// to its oplog ($v: 2): what an update costs there is what it changed.
//
//   object  {d: {gone: false, …}, u: {changed: value, …}, i: {new: value, …}, s<field>: {…}, …}
//   array   {a: true, l: length, u<index>: value, …, s<index>: {…}, …}
//
// d deletes, u changes in place, i appends at the end, s goes one level down;
// l is there when the array got shorter. Sections that are empty are left out.
#pragma once

#include <optional>

#include "base/result.h"
#include "bson/document.h"

namespace bson::diff {

// apply(before, compute(before, after)) is `after`, byte for byte. Nothing when it would not be
// smaller than `after` itself, or cannot be told by names (a field that occurs twice).
std::optional<Document> compute(DocumentView before, DocumentView after);

// Fails with FailedToParse when `diff` is not one. Where `before` no longer has the shape it was made for
// (a field is gone or is no object any more) that part is passed over, so that playing a log
// over a later state arrives where the log does.
base::Result<Document> apply(DocumentView before, DocumentView diff);

}  // namespace bson::diff
