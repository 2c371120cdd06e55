// Who keeps what declared snapshots show when it is overwritten.
#pragma once

#include "storage/record_store.h"

namespace storage {

class StoredCollection;

// Thread-safe; transactions are not.
class PreStates {
 public:
  virtual ~PreStates() = default;
  // Within the transaction of the write that has the stamp `write`: the content `before`, which a declared snapshot shows, was kept.
  virtual void save(Transaction& transaction, const StoredCollection& collection, RecordId record, const Superseded& before, Stamp write) = 0;
};

}  // namespace storage
