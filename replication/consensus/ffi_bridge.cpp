#include "replication/consensus/ffi_bridge.h"

#include <cstdlib>
#include <exception>
#include <mutex>

#include "base/log.h"
#include "replication/consensus/raft_core.h"

namespace replication::consensus {
namespace {

constexpr int exit_abrupt = 14;  // as where the storage engine can't go on

RaftIds raw(const std::vector<MemberId>& ids) {
  return {ids.data(), ids.size()};
}
std::vector<MemberId> ids_of(RaftIds raw) {
  return {raw.ids, raw.ids + raw.count};
}
LogStore& store(void* self) {
  return *static_cast<LogStore*>(self);
}

int result_of(Lookup lookup) {
  return lookup == Lookup::found ? 0 : lookup == Lookup::compacted ? 1 : 2;
}

int read_entries(void* self, uint64_t low, uint64_t high, uint64_t bytes_max, void* sink, void (*push)(void*, const RaftEntry*)) {
  try {
    std::vector<EntryPtr> found;
    const int result = result_of(store(self).entries(low, high, bytes_max, found));
    for (const EntryPtr& entry : found) {
      const RaftEntry out{entry->index, entry->term, static_cast<uint32_t>(entry->kind), consensus::raw(entry->data),
                          consensus::raw(entry->context)};
      push(sink, &out);
    }
    return result;
  } catch (const std::exception& error) {
    // Exceptions don't travel through the library, and a log with holes has no voice in the set.
    base::log(base::Severity::fatal, base::LogComponent::repl, 7100002, "The log cannot be read; stopping",
              base::Attributes().add("error", error.what()));
    std::_Exit(exit_abrupt);
  }
}

void library_line(uint32_t level, RaftBytes message) {
  constexpr base::Severity severities[] = {base::Severity::fatal, base::Severity::error, base::Severity::warning,
                                           base::Severity::debug1};
  const base::Severity severity = severities[level < 3 ? level : 3];
  if (!base::log_enabled(severity, base::LogComponent::repl)) return;
  base::log(severity, base::LogComponent::repl, 7100003, "Consensus", base::Attributes().add("message", view(message)));
}

}  // namespace

EntryPtr entry_of(const RaftEntry& raw) {
  return std::make_shared<const LogEntry>(
      LogEntry{raw.index, raw.term, static_cast<EntryKind>(raw.kind), Bytes(view(raw.data)), Bytes(view(raw.context))});
}

Membership members_of(const RaftConfState& raw, Index index) {
  return {index,         ids_of(raw.voters), ids_of(raw.learners), ids_of(raw.voters_outgoing), ids_of(raw.learners_next),
          raw.auto_leave};
}

RaftStorage storage_of(LogStore& log) {
  RaftStorage out{};
  out.owner = &log;
  out.hard_state = [](void* self, RaftHardState* to) {
    const HardState& hard = store(self).meta().hard;
    *to = {hard.term, hard.vote, hard.commit};
  };
  out.conf_state = [](void* self, RaftConfState* to) {
    const Membership& members = store(self).meta().members;
    *to = {raw(members.voters), raw(members.learners), raw(members.voters_outgoing), raw(members.learners_next),
           members.auto_leave};
  };
  out.conf_index = [](void* self) { return store(self).meta().members.index; };
  out.first_index = [](void* self) { return store(self).first(); };
  out.last_index = [](void* self) { return store(self).last(); };
  out.term = [](void* self, uint64_t index, uint64_t* term) { return result_of(store(self).term(index, *term)); };
  out.entries = read_entries;
  return out;
}

void route_library_log() {
  static std::once_flag once;
  std::call_once(once, [] { raft_set_log(library_line); });
}

}  // namespace replication::consensus
