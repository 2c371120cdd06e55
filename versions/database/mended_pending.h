// Makes rows of `pending` again, which say what branches show of a collection beyond their last commits.
//
//   by the log      it has the writes of each branch since its last commit (pending_lines.h). A document's record has the
//                   generation of the document's newest write
//   by the entries  an entry of `_id` whose record isn't committed belongs to a pending row. If the log doesn't have the write,
//                   the record's segment says which branch has made it
//   by the commits  they go on naming what was purged (mended_purges.h)
#pragma once

#include <functional>
#include <set>

#include "storage/upkeep/entry_log.h"
#include "storage/upkeep/repair.h"
#include "versions/branch/branches.h"
#include "versions/database/collection_view.h"

namespace versions {

struct PendingToMend {
  storage::Engine& engine;
  Branches& branches;
  SharedCollection& shared;
  std::string database;
  storage::EntryLog* log = nullptr;        // nullptr: there is none
  std::vector<RecordId> there = {};        // the records that have rows
  std::set<State> states = {};             // of all commits
  std::function<void()> interrupted = {};  // called at each row and entry; may throw
};

// `rows` is the table with the rows that are left, which nobody else uses yet; those that are missing are put into it. `salvaged`
// means that some of those that are left may be older than the last ones. It passes over all entries of `_id` and over the log
// once, and holds some 150 bytes in memory for each document that is not committed.
storage::VersionRepair::Pending mend_pending(const PendingToMend& mend, const storage::Table& rows, bool salvaged);

}  // namespace versions
