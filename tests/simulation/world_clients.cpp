// Clients send one operation at a time, to the member that they believe to lead.
#include "tests/simulation/world_parts.h"

namespace simulation {

void World::client(int number) {
  if (now_us_ > (plan_.faults_until_ms + 15'000) * 1000) return;
  const auto pause = static_cast<int64_t>(random_.below(80'000));
  const std::vector<MemberId> running = up();
  Member* server = running.empty() ? nullptr : find(running[random_.below(running.size())]);
  // More than one member may believe that it is primary.
  if (!server || !server->primary()) return at(10'000 + pause, [this, number] { client(number); });

  const int64_t id = next_operation_++;
  Operation& operation = operations_[id];
  operation.client = number;
  operation.called = now_us_;
  operation.server = server->id;
  operation.read = random_.below(3) == 0;
  operation.command = {static_cast<Command::Kind>(random_.below(3)), id, static_cast<int64_t>(random_.below(registers)), id,
                       operations_.size() > 3 ? id - 1 - static_cast<int64_t>(random_.below(3)) : 0};
  if (operation.read) {
    begin_read(*server, id);
  } else if (server->writes_stopped > 0) {
    operation.over = operation.refused = true;
  } else if (const auto at = propose(*server, operation.command)) {
    operation.at = *at;
    handle_output(*server);
  } else {
    operation.over = operation.refused = true;
  }
  // Answered or not, the client waits no longer than this.
  const auto patience = static_cast<int64_t>(100'000 + random_.below(1'500'000));
  wait_for_answer(id, number, patience, pause);
}

// Proposes a command as a primary's pump does: it gets a timestamp, and its place is noted.
std::optional<Position> World::propose(Member& primary, const Command& command) {
  const Term term = primary.role->standing().term;
  const storage::Stamp stamp = (term << 32) + ++primary.stamps;
  const auto at = primary.core->propose(command.encode(), replication::stamp_context(stamp));
  if (!at) return std::nullopt;
  if (at->term != term) fail("a write went to the log in another term than it was made in");
  primary.proposed = at->index;
  primary.places.note(at->index, {{stamp, static_cast<int64_t>(term)}, 0});
  primary.noted[at->index] = stamp;
  return at;
}

void World::wait_for_answer(int64_t id, int number, int64_t patience, int64_t pause) {
  constexpr int64_t step = 20'000;
  Operation& operation = operations_[id];
  if (!operation.over && patience > 0) {
    return at(step, [=, this] { wait_for_answer(id, number, patience - step, pause); });
  }
  if (!operation.over) ++tally_.unknown;
  operation.over = true;
  at(pause, [this, number] { client(number); });
}

void World::begin_read(Member& leader, int64_t id) {
  const std::string context(reinterpret_cast<const char*>(&id), sizeof id);
  if (plan_.mutation == Mutation::stale_reads) {
    leader.reads.push_back({leader.machine.applied, context});
    finish_reads(leader);
  } else if (leader.core->read_index(context)) {
    handle_output(leader);
  } else {
    operations_[id].over = operations_[id].refused = true;
  }
}

void World::finish_reads(Member& member) {
  for (size_t i = 0; i < member.reads.size();) {
    if (member.reads[i].index > member.machine.applied) {
      ++i;
      continue;
    }
    Operation& operation = operations_[base::load_le<int64_t>(member.reads[i].context.data())];
    if (!operation.over) {
      operation.over = true;
      operation.returned = now_us_;
      operation.value = member.machine.values[operation.command.key];
      operation.contents = member.machine.elements;
      ++tally_.reads;
    }
    member.reads.erase(member.reads.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

void World::acknowledge(const LogEntry& entry, bool succeeded) {
  if (entry.data.size() != sizeof(Command) || entry.kind != EntryKind::data) return;
  const Command command = Command::decode(entry.data);
  if (command.kind == Command::Kind::configure) return;
  Operation& operation = operations_[command.operation];
  if (operation.over || !(operation.at == Position{entry.index, entry.term})) return;
  operation.over = true;
  operation.returned = now_us_;
  operation.succeeded = succeeded;
  ++tally_.acknowledged;
}

}  // namespace simulation
