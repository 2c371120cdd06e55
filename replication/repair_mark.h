// The mark of a repair: the directory of a member was repaired while it wasn't one, so documents may be gone that the other
// members have. At its next start as a member it copies the data of another one.
//
//   local.system.repaired    exists: the mark; a copy of another member's data doesn't have it
#pragma once

namespace storage {
class Store;
}

namespace replication {

// Call this before a repair, so that a crash in its midst leaves the mark. Returns whether the mark is new; it isn't made in a
// directory without the configuration of a set. Must not be called inside a transaction.
bool mark_repair(storage::Store& store);
// Call this after a repair that took nothing away, if the mark was new.
void unmark_repair(storage::Store& store);
bool was_repaired(storage::Store& store);

}  // namespace replication
