// Who keeps what declared snapshots show when it is overwritten.
#pragma once

#include "storage/contents/record_store.h"

namespace storage {

class StoredCollection;

// Thread-safe; transactions are not.
class PreStates {
 public:
  virtual ~PreStates() = default;
  // Within the transaction of the write that has the stamp `write`, where that changed what is kept of the record
  // (Superseded::tells_past).
  virtual void save(Transaction& transaction, const StoredCollection& collection, RecordId record, const Superseded& before,
                    Stamp write) = 0;
};

}  // namespace storage
