// Who keeps what declared snapshots show of a collection's branches, when it is overwritten or goes.
//
// What a snapshot shows of a branch is what its last commit did, and what was pending then. States stay as they are; records and
// rows of `pending` don't.
#pragma once

#include "storage/contents/record_store.h"
#include "versions/branch/record_set.h"

namespace versions {

enum class BranchId : uint32_t;

// Thread-safe; transactions are not. `write`: the stamp of the change, within whose transaction this is called.
class StatePast {
 public:
  virtual ~StatePast() = default;
  // The newest declared snapshot before the write; 0: there is none.
  virtual storage::Stamp shown_before(storage::Stamp write) const = 0;
  // What is kept of the record changed (storage::Superseded::tells_past).
  virtual void save_content(storage::Transaction& transaction, RecordId record, const storage::Superseded& before,
                            storage::Stamp write) = 0;
  // A row of what is pending, of `since`, which one of the snapshots shows: of a record, or of the collection itself
  // (listing_at). `kind`: its first byte.
  virtual void save_pending(storage::Transaction& transaction, BranchId branch, RecordId record, char kind, storage::Stamp since,
                            storage::Stamp write) = 0;
  // Records that snapshots show as added to some branch, by rows that were saved.
  virtual RecordSet saved_additions(storage::Transaction& transaction) = 0;
};

}  // namespace versions
