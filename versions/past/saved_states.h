// What rows that say what a branch shows were before they were changed or went: heads of branches, and what is not committed on
// them.
//
//   past-states   owner, snapshot (8, BE), name -> since varint, value
//
// Owners are the caller's, none the beginning of another. A row says it of the snapshots from `since` up to its own, but for
// those of which a row before tells the same name. Thread-safe; transactions are not.
#pragma once

#include <functional>
#include <vector>

#include "storage/engine/table.h"
#include "versions/past/mapping.h"

namespace storage {
class Store;
}

namespace versions::past {

using base::Bytes;
using base::BytesView;
using storage::Stamp;
using storage::Transaction;

class SavedStates {
 public:
  static constexpr char table_name[] = "past-states";

  SavedStates() = default;
  explicit SavedStates(storage::Table table) : table_(std::move(table)) {}

  // In the transaction of the change. `snapshot`: the position before it; what was told under it first counts. `since`: 0 where
  // nobody knows. `value`: empty: there was no such row.
  void save(Transaction& transaction, BytesView owner, BytesView name, Stamp since, BytesView value, Stamp snapshot) const;
  // What the snapshot shows otherwise than it is now.
  void each_as_of(Transaction& transaction, BytesView owner, Stamp snapshot,
                  const std::function<void(BytesView name, BytesView value)>& visit) const;
  // All there is of owners of so many bytes that begin so.
  void each(Transaction& transaction, BytesView owners, size_t owner_bytes,
            const std::function<void(BytesView name, BytesView value)>& visit) const;
  // Takes the rows away that tell of no declared snapshot any more.
  void keep_only_declared(storage::Store& store) const;

 private:
  Bytes find_gone(Transaction& transaction, Bytes from, const std::vector<Stamp>& snapshots, std::vector<Bytes>& gone) const;

  storage::Table table_;  // once there has been a snapshot
};

}  // namespace versions::past
