// The world's own files share these parts.
#pragma once

#include <deque>
#include <optional>
#include <set>

#include "replication/consensus/inquiry.h"
#include "replication/log_places.h"
#include "replication/member_machine.h"
#include "tests/simulation/world.h"

namespace simulation {

inline constexpr int64_t tick_us = 50'000;
inline constexpr int64_t delay_us_max = 400'000;  // of a message, ever
inline constexpr Index joins_within = 10;         // entries that a member may lack that is to vote

struct World::Member {
  MemberId id = 0;
  uint64_t life = 0;  // counts starts and crashes, so that events of an earlier one find another number
  Disk disk;
  std::unique_ptr<LogStore> store;
  std::unique_ptr<RaftCore> core;  // nullptr: down
  Machine machine;
  Machine checkpoint;  // a crash goes back to this
  bool copying = false;
  std::deque<Write> writes;
  bool disk_busy = false;
  int64_t disk_us_max = 2000;
  Index old_majority = 0;  // up to here an earlier membership's majority had decided
  std::vector<ReadState> reads;
  std::vector<LogBatch> unsynced;  // Mutation::lost_sync

  // The real state machine decides what the member is in its set; it is driven as ReplicaSet drives it (world_roles.cpp).
  std::optional<replication::MemberMachine> role;
  Term caught_up = 0;   // everything before this term's first entry is applied
  Index proposed = 0;   // the newest place that this life of the member gave to a client's write
  bool unsure = false;  // until it is known what of its own writes stays
  bool starts_over = false;
  std::optional<int64_t> not_electable_since;  // as consensus was told

  std::shared_ptr<const replication::SetConfig> config;  // nullptr: it has none yet, or members follow none
  Answers answers;
  uint64_t stamps = 0;  // given to writes
  replication::LogPlaces places;
  std::map<Index, storage::Stamp> noted;  // everything that `places` has recorded
  std::set<MemberId> in_reach;            // and their places known, since the last look at them
  int writes_stopped = 0;                 // by successions
  bool hands_over = false;                // to a better one: other duties wait

  bool up() const { return core != nullptr; }
  bool leads() const { return up() && core->status().standing.role == Role::leader; }
  Position end() const {
    Position end{store->last(), 0};
    base::check(store->term(end.index, end.term) == Lookup::found, "a log has a term at its end");
    return end;
  }
  bool primary() const { return up() && role->state() == replication::MemberState::primary; }
};

struct World::Operation {
  int client = 0;
  bool read = false;
  Command command{};
  int64_t called = 0;
  std::optional<int64_t> returned;
  bool over = false;  // returned, or given up
  bool succeeded = true;
  int64_t value = 0;
  std::set<int64_t> contents;
  Position at;
  bool refused = false;  // never entered a log
  MemberId server = 0;
};

}  // namespace simulation
