// SavedStates holds the former values of rows that say what a branch shows: heads of branches, and what isn't committed on them.
//
//   past-states   owner, snapshot (8, BE), name -> since varint, value
//
// Owners are the caller's, and none is the beginning of another. A row holds for the snapshots from `since` up to its own, except
// those for which an earlier row has the same name. Thread-safe; transactions are not.
#pragma once

#include <functional>
#include <vector>

#include "storage/engine/table.h"
#include "versions/past/lost_past.h"
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
  // `lost` must outlive this; nullptr: nothing is lost.
  explicit SavedStates(storage::Table table, const LostPast* lost = nullptr) : table_(std::move(table)), lost_(lost) {}

  const storage::Table& table() const { return table_; }

  // Saves a value in the transaction of the change. `snapshot` is the position before it; the first value saved under it counts.
  // `since` is 0 if nobody knows it. `value` is empty if there was no such row.
  void save(Transaction& transaction, BytesView owner, BytesView name, Stamp since, BytesView value, Stamp snapshot) const;
  // Visits the values that differ in the snapshot from what they are now. Throws DataCorruptionDetected if some of them are lost.
  void each_as_of(Transaction& transaction, BytesView owner, Stamp snapshot,
                  const std::function<void(BytesView name, BytesView value)>& visit) const;
  // Visits all values of owners of so many bytes that begin with `owners`.
  void each(Transaction& transaction, BytesView owners, size_t owner_bytes,
            const std::function<void(BytesView name, BytesView value)>& visit) const;
  // Removes the rows that hold for no declared snapshot any more.
  void keep_only_declared(storage::Store& store) const;

 private:
  Bytes find_gone(Transaction& transaction, const Bytes& from, const std::vector<Stamp>& snapshots,
                  std::vector<Bytes>& gone) const;

  storage::Table table_;  // made with the first snapshot
  const LostPast* lost_ = nullptr;
};

}  // namespace versions::past
