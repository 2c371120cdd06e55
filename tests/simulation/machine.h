// The state machine of the simulation has a few registers and a set.
#pragma once

#include <array>
#include <set>
#include <string>

#include "base/error.h"
#include "base/hash.h"
#include "replication/consensus/types.h"
#include "replication/log_record.h"

namespace simulation {

using replication::consensus::LogEntry;

inline constexpr int registers = 2;

struct Command {
  enum class Kind : int64_t { write, compare_and_set, add, configure };
  Kind kind;
  int64_t operation;
  int64_t key;
  int64_t value;  // of configure: the number under which the world keeps the configuration
  int64_t expected;

  std::string encode() const { return {reinterpret_cast<const char*>(this), sizeof *this}; }
  static Command decode(std::string_view bytes) { return base::load_le<Command>(bytes.data()); }
};

struct Machine {
  uint64_t applied = 0;
  uint64_t history = 0;       // hash over all commands that were applied, in order
  storage::Stamp stamp = 0;   // of the newest of them
  int64_t configuration = 0;  // 0: none
  std::array<int64_t, registers> values{};
  std::set<int64_t> elements;

  // Returns whether a compare-and-set found what it expected; true for the rest.
  bool apply(const LogEntry& entry) {
    base::check(entry.index == applied + 1, "entries are applied in order");
    applied = entry.index;
    if (entry.kind != replication::consensus::EntryKind::data || entry.data.size() != sizeof(Command)) return true;
    history = base::hash64(entry.data, history ^ entry.term);
    base::check(replication::stamp_of_context(entry.context) > stamp, "timestamps go up along the log");
    stamp = replication::stamp_of_context(entry.context);
    const Command command = Command::decode(entry.data);
    if (command.kind == Command::Kind::configure) {
      configuration = command.value;
      return true;
    }
    if (command.kind == Command::Kind::add) {
      elements.insert(command.value);
      return true;
    }
    int64_t& value = values[command.key];
    if (command.kind == Command::Kind::compare_and_set && value != command.expected) return false;
    value = command.value;
    return true;
  }
};

}  // namespace simulation
