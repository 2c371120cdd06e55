// Keeps what declared snapshots show of a collection's branches when it is overwritten or goes.
//
// A snapshot shows of a branch what its last commit showed then, and what was pending then. States don't change; records and rows
// of `pending` do.
#pragma once

#include "storage/contents/record_store.h"
#include "versions/branch/record_set.h"

namespace versions {

enum class BranchId : uint32_t;

// Thread-safe; transactions are not. `write` is the timestamp of the change, and the call is made in its transaction.
class StatePast {
 public:
  virtual ~StatePast() = default;
  // The timestamp of the newest declared snapshot before the write; 0: there is none.
  virtual storage::Stamp shown_before(storage::Stamp write) const = 0;
  // Saves that the store keeps other contents of the record than before (storage::Superseded::changes_past).
  virtual void save_content(storage::Transaction& transaction, RecordId record, const storage::Superseded& before,
                            storage::Stamp write) = 0;
  // Saves a pending row, written at `since`, that one of the snapshots shows. The row is that of a record, or of the collection
  // itself (listing_at). `kind` is its first byte.
  virtual void save_pending(storage::Transaction& transaction, BranchId branch, RecordId record, char kind, storage::Stamp since,
                            storage::Stamp write) = 0;
  // The records that snapshots show as added to some branch, by the rows that were saved.
  virtual RecordSet saved_additions(storage::Transaction& transaction) = 0;
};

}  // namespace versions
