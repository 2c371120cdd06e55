// A primary notes at which index of the set's log each of its records stands, and the timestamp that the record ends with. So it
// can say up to which timestamp a member has the data that has the log up to an index.
//
//   index       17      18      20            forget: every member in reach has 19,
//   timestamp   @5      @7      @8            so the place at 17 goes, and the one at 18 stays
//
// An object serves one thread at a time.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "replication/consensus/raft_core.h"
#include "replication/coordinator.h"

namespace replication {

class LogPlaces {
 public:
  static constexpr size_t places_max = 100'000;

  // The record at `index`, which lies behind those before, ends with the entry `last`.
  void note(consensus::Index index, const Progress::Place& last);
  // nullopt: nothing was noted of this index, or it is forgotten.
  std::optional<Progress::Place> at(consensus::Index index) const;
  // The timestamp that a member has everything up to which has the log up to `index`. 0: none is known.
  storage::Stamp stamp_upto(consensus::Index index) const;
  // The places that everybody in reach is past are forgotten, but the newest of them. `applied`: by this member.
  void forget(consensus::Index applied, const std::vector<consensus::PeerProgress>& progress);
  size_t size() const { return places_.size(); }

 private:
  struct Place {
    consensus::Index index = 0;
    Progress::Place last;
  };
  std::deque<Place> places_;  // in the order of the log
};

}  // namespace replication
