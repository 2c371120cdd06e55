#include "replication/log_shortening.h"

#include <algorithm>

#include "replication/log_record.h"

namespace replication {

using consensus::Index;

Index newest_index_with(storage::Stamp upto, Index compacted, Index last,
                        const std::function<consensus::EntryPtr(Index)>& entry) {
  Index low = compacted, high = last;  // low: included, or begins the log; above high: isn't
  while (low < high) {
    const Index middle = low + (high - low + 1) / 2;
    storage::Stamp stamp = 0;
    Index at = middle;
    for (; at <= high && stamp == 0; ++at) stamp = stamp_of_context(entry(at)->context);
    if (stamp != 0 && stamp <= upto)
      low = at - 1;
    else
      high = middle - 1;
  }
  return low;
}

// A member that doesn't lead doesn't know what the others need: it may be asked for its log once it leads.
std::optional<Index> shorten_upto(const LogToShorten& log, const std::vector<consensus::PeerProgress>& progress) {
  if (!log.leads && !log.too_long) return std::nullopt;
  Index upto = std::min(log.checkpointed, log.applied);
  if (!log.too_long) {
    for (const consensus::PeerProgress& one : progress) upto = std::min(upto, one.matched);
  }
  return upto > log.compacted ? std::optional(upto) : std::nullopt;
}

}  // namespace replication
