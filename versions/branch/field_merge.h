// What becomes of a document that both sides of a merge have changed.
#pragma once

#include <functional>

#include "bson/document.h"
#include "versions/branch/branch_store.h"

namespace versions {

// One document on three sides; nullopt: not there. Borrowed for the call.
struct Sides {
  std::optional<BytesView> base, ours, theirs;
};

struct Resolution {
  enum class Kind : uint8_t { ours, theirs, written, conflict } kind;
  Bytes document;  // written
};

using Resolver = std::function<Resolution(const Sides&)>;

// Who is believed where both say something else.
enum class Prefer : uint8_t { neither, ours, theirs };

// Documents as wholes (the paper's two-way merge).
Resolver whole_documents(Prefer prefer);

// Field by field, objects within objects too, arrays as wholes: what one side changed is taken from it, what both changed to
// the same stays, and for what they changed differently `prefer` decides. A document that is gone on one side and changed on
// the other is a conflict as a whole (§2.2.3).
Resolver fields(Prefer prefer);

// The fields of all three; nullopt: a conflict that `prefer` leaves open. New fields of theirs come behind ours.
std::optional<bson::Document> merge_fields(bson::DocumentView base, bson::DocumentView ours, bson::DocumentView theirs, Prefer prefer);

}  // namespace versions
