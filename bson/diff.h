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
#include <set>
#include <string>

#include "base/result.h"
#include "bson/document.h"

namespace bson::diff {

// The paths of objects and arrays that a diff brings as a whole ("a.b", "list.0.x"); it goes down into all others that differ.
using WholePaths = std::set<std::string, std::less<>>;

// apply(before, compute(before, after)) is `after`, byte for byte. Returns nothing when names can't express the diff (a field
// occurs twice); the diff may be larger than `after`. Without `whole` the diff goes down a level where that is shorter.
std::optional<Document> compute(DocumentView before, DocumentView after, const WholePaths* whole = nullptr);

// An outline is a diff without its values, which are in the document that the diff made. With that document, `filled` restores
// the diff.
//
//   diff     {u: {text: "a long text"}, d: {gone: false}}
//   outline  {u: {text: null}, d: {gone: false}}
Document outline(DocumentView diff);
// Fails with FailedToParse when `outline` is none of `after`'s.
base::Result<Document> filled(DocumentView outline, DocumentView after);
// Returns the size of what `filled` makes, without making it; nothing where that fails.
std::optional<size_t> filled_bytes(DocumentView outline, DocumentView after);

// Fails with FailedToParse when `diff` is not one. Where `before` no longer has the shape that the diff was made for (a field
// is gone, or is no object any more) that part is skipped, so that replaying a log over a later state ends where the log
// does.
base::Result<Document> apply(DocumentView before, DocumentView diff);

}  // namespace bson::diff
