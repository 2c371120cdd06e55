#include "replication/log_places.h"

#include <algorithm>

namespace replication {

using consensus::Index;

void LogPlaces::note(Index index, const Progress::Place& last) {
  places_.push_back({index, last});
}

std::optional<Progress::Place> LogPlaces::at(Index index) const {
  const auto found = std::lower_bound(places_.begin(), places_.end(), index,
                                      [](const Place& place, Index wanted) { return place.index < wanted; });
  if (found == places_.end() || found->index != index) return std::nullopt;
  return found->last;
}

storage::Stamp LogPlaces::stamp_upto(Index index) const {
  const auto behind = std::upper_bound(places_.begin(), places_.end(), index,
                                       [](Index wanted, const Place& place) { return wanted < place.index; });
  return behind == places_.begin() ? 0 : std::prev(behind)->last.optime.ts;
}

void LogPlaces::forget(Index applied, const std::vector<consensus::PeerProgress>& progress) {
  Index past = applied;
  for (const consensus::PeerProgress& one : progress) {
    if (one.recently_active && !consensus::is_arbiter(one.id)) past = std::min(past, one.matched);
  }
  while (places_.size() > 1 && (places_[1].index <= past || places_.size() > places_max)) places_.pop_front();
}

}  // namespace replication
