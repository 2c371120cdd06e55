// A member's log of the set is shortened up to what a checkpoint has, and on the primary up to what all members have.
// These are decisions alone; the driver asks for them and has consensus forget the entries.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "replication/consensus/raft_core.h"
#include "storage/engine/record_id.h"

namespace replication {

// Beyond so many bytes the log no longer waits for members that lag: they copy another member's data.
inline constexpr int64_t log_bytes_kept = 256 << 20;

// The newest index up to which all entries have timestamps of `upto` at most. Entries without a timestamp go with those before
// them. `entry` is asked for entries of (compacted, last].
consensus::Index newest_index_with(storage::Stamp upto, consensus::Index compacted, consensus::Index last,
                                   const std::function<consensus::EntryPtr(consensus::Index)>& entry);

struct LogToShorten {
  consensus::Index checkpointed = 0;  // a restart needs no entry up to here
  consensus::Index compacted = 0;     // the log begins behind it
  consensus::Index applied = 0;
  bool leads = false;
  bool too_long = false;  // it has more than log_bytes_kept
};
// The newest entry that may go, with those before it. nullopt: none may. `progress`: of all members, as the leader knows it.
std::optional<consensus::Index> shorten_upto(const LogToShorten& log, const std::vector<consensus::PeerProgress>& progress);

}  // namespace replication
