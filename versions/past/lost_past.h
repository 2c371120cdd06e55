// LostPast remembers what repairs have lost of the tables that say what declared snapshots show. Nothing tells a row that was
// lost from one that never was, so what a snapshot from before the repair shows there can't be read any more.
//
//   past-lost   c or b, length 2, from, to -> snapshot 8   c: of the tables whose keys begin with a collection; b: of SavedStates
//
// Numbers are big-endian. Rows between the two keys may be missing; `to` is 01 and the key, or nothing if the table's end is
// meant. The row is of that snapshot and those before it.
#pragma once

#include <atomic>
#include <vector>

#include "base/mutex.h"
#include "storage/engine/readable_rows.h"
#include "versions/past/mapping.h"

namespace storage {
class Store;
}

namespace versions::past {

using base::Bytes;
using base::BytesView;
using storage::Hole;
using storage::Transaction;

// Returns whether a key that begins with this may be in the hole.
bool may_hold(const Hole& hole, BytesView prefix);

enum class LostKind : char { of_collections = 'c', of_branches = 'b' };

struct LostRow {
  LostKind kind = LostKind::of_collections;
  Hole hole;
  Stamp snapshot = 0;
};
Bytes lost_row_key(LostKind kind, const Hole& hole);
Bytes write_lost_row(Stamp snapshot);
// Throws DataCorruptionDetected.
LostRow read_lost_row(BytesView key, BytesView value);

// Thread-safe; transactions are not.
class LostPast {
 public:
  explicit LostPast(storage::Store& store) : store_(store) {}
  // Reads the table if there is one.
  void open();

  // Adds to the table, which is made if there is none. Must not be called inside a transaction.
  void add(LostKind kind, const std::vector<Hole>& holes, Stamp snapshot);
  // Removes what is of no declared snapshot any more.
  void keep_only_declared();
  // Throws DataCorruptionDetected if rows whose keys begin with this may be lost that the snapshot needs. `what` says whose they
  // are: "shop.things".
  void check(LostKind kind, BytesView prefix, Stamp snapshot, std::string_view what) const;

 private:
  void load() REQUIRES(mutex_);

  storage::Store& store_;
  std::atomic<Stamp> newest_{0};  // of all; 0: nothing was lost
  mutable base::SharedMutex mutex_;
  storage::Table table_ GUARDED_BY(mutex_);  // made with the first loss
  std::vector<LostRow> lost_ GUARDED_BY(mutex_);
};

}  // namespace versions::past
