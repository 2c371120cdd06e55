// The mark of a repair: the directory of a member was repaired while it wasn't one, so documents may be gone that the other
// members have. At its next start as a member it copies the data of another one. If there is no other with data, or the member is
// an arbiter, the mark goes.
//
//   local.system.repaired    exists: the mark; a copy of another member's data doesn't have it
//   palimpsest.salvaged      exists: the same, made before there are tables (storage/upkeep/repair.h)
#pragma once

namespace storage {
class Store;
}

namespace replication {

// A repair has one of these while it runs, so that a crash in its midst leaves the mark. The mark isn't made in a directory
// without the configuration of a set. One repair at a time.
class RepairMark {
 public:
  // Must not be called inside a transaction.
  explicit RepairMark(storage::Store& store);
  // Takes the mark back if it was new: nothing was taken away.
  void take_back();

 private:
  storage::Store& store_;
  bool is_new_ = false;
};

bool was_repaired(storage::Store& store);
void forget_repair(storage::Store& store);

}  // namespace replication
