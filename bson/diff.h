// A diff is the difference between two versions of a document, in the form that MongoDB writes to its oplog ($v: 2), so that an
// update takes as much room there as it changes.
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

// apply(before, compute(before, after)) is `after`, byte for byte. Returns nothing when the diff would not be smaller than
// `after`, or when names can't express it (a field occurs twice).
std::optional<Document> compute(DocumentView before, DocumentView after);

// Fails with FailedToParse when `diff` is not one. Where `before` no longer has the shape that the diff was made for (a field
// is gone, or is no object any more) that part is skipped, so that replaying a log over a later state ends where the log
// does.
base::Result<Document> apply(DocumentView before, DocumentView diff);

}  // namespace bson::diff
