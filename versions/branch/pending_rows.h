// The rows of `pending`, which say what branches show beyond their last commits: docs/formats/branches.md has their bytes.
#pragma once

#include <optional>

#include "storage/engine/engine.h"
#include "versions/branch/record_set.h"

namespace versions {

using storage::Stamp;

// Numbers of branches go up, and none is used twice.
enum class BranchId : uint32_t { none = 0 };

enum class PendingKind : char { added = 1, removed = 2 };

// A Listing says what happened to a collection on a branch since its last commit.
enum class Listing : char {
  made = 5,       // the branch has the collection now, whatever its last commit has of it
  dropped = 6,    // the branch shows nothing of what its last commit has
  made_anew = 7,  // the collection was dropped, and then created anew
};
// The RecordId under which `pending` keeps a collection's row: no record has it, so the row comes first.
constexpr RecordId listing_at = 0;
inline bool hides(Listing listing) {
  return listing != Listing::made;
}
inline bool lists(Listing listing) {
  return listing != Listing::dropped;
}

// Rows of the branch `none` say which versions were purged.
enum class PurgedKind : char {
  keyless = 3,  // an entry that is no record, or a record whose key nobody knows
  keyed = 4,
};

Bytes pending_key(BranchId branch, RecordId record);
// `key` is that of a record that is removed, so that the commit need not read it.
Bytes pending_row(PendingKind kind, Stamp stamp, BytesView key = {});
Bytes pending_row(Listing listing, Stamp stamp);
Bytes purged_row(BytesView key);  // an empty one: nobody knows it

// They throw DataCorruptionDetected for what is no key of `pending`, or for a row that says nothing.
BranchId branch_of_key(BytesView key);
RecordId record_of_key(BytesView key);
char kind_of_row(BytesView row);
// 0: the row is from before rows had timestamps.
Stamp stamp_of_row(BytesView row);
// Returns the key of a removed record; an empty one: the row doesn't have it.
BytesView key_of_row(BytesView row);

// A row as a walk meets it.
struct PendingRow {
  BranchId branch = BranchId::none;
  RecordId record = 0;
  char kind = 0;
  BytesView purged = {};  // the key of a version that was purged
};
// nullopt: this is no such row.
std::optional<PendingRow> parse_pending_row(BytesView key, BytesView row);

}  // namespace versions
