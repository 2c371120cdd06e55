// The world's own files share these parts.
#pragma once

#include <deque>
#include <optional>

#include "replication/member_machine.h"
#include "tests/simulation/world.h"

namespace simulation {

inline constexpr int64_t tick_us = 50'000;

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

  // What a member is in its set: the real state machine, driven as ReplicaSet drives it (world_roles.cpp).
  std::optional<replication::MemberMachine> role;
  Term caught_up = 0;   // everything before this term's first entry is applied
  Index proposed = 0;   // the newest place that this life of the member gave to a client's write
  bool unsure = false;  // until it is known what of its own writes stays
  bool starts_over = false;

  bool up() const { return core != nullptr; }
  bool leads() const { return up() && core->status().standing.role == Role::leader; }
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
