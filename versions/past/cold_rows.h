// Cold rows are hardly ever written. They get mappings before anybody writes them, as forced copies, so that no overwrite cycle
// is much longer than asked for, however cold a few rows are (Skippy §5.1.4). Only the mapping is copied: it names the content
// that the row has, which stays where it is.
//
// The server makes none: its scans don't end once a table has every row (docs/design/0007-past.md).
#pragma once

#include <functional>
#include <vector>

#include "versions/past/mapping.h"

namespace versions::past {

// Keeps the last retainers (§4.4) of rows 1 to `rows`. Not thread-safe.
class ColdRows {
 public:
  // Each row gets a mapping at least once in two times `age` snapshots; a row is cold after `age` snapshots without one. `age` is
  // at least 1.
  ColdRows(uint64_t rows, uint64_t age) : age_(age), next_(age + 1), last_(rows) {}

  // Called after a mapping of the row was made for the snapshot, which is the newest one.
  void retained(RecordId row, SnapshotId snapshot) { last_[static_cast<size_t>(row) - 1] = snapshot; }
  // Returns whether it is time to look through the rows.
  bool due(SnapshotId newest) const { return newest >= next_; }
  // Looks through them. `copy` makes a mapping for each row that is cold, in the order of rows. Returns how many that were.
  size_t force(SnapshotId newest, const std::function<void(RecordId)>& copy);

 private:
  const uint64_t age_;
  SnapshotId next_;
  std::vector<SnapshotId> last_;
};

}  // namespace versions::past
