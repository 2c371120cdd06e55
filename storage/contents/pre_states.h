// PreStates is the interface that keeps what declared snapshots show when a write overwrites it.
#pragma once

#include "storage/contents/record_store.h"

namespace storage {

class StoredCollection;

// Implementations are thread-safe; transactions are not.
class PreStates {
 public:
  virtual ~PreStates() = default;
  // A write calls this within its own transaction when it changed what is kept of the record (Superseded::changes_past); `write`
  // is the write's timestamp.
  virtual void save(Transaction& transaction, StoredCollection& collection, RecordId record, const Superseded& before,
                    Stamp write) = 0;
  // A repair calls this for a record that is lost: it keeps the way to what snapshots show of it, if that can be read.
  virtual void lose(Transaction& transaction, StoredCollection& collection, RecordId record) = 0;
};

}  // namespace storage
