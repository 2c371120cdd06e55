// This file is what a member's owner does around the core: ticks, disk, network, state machine.
#include <algorithm>

#include "replication/log_shortening.h"
#include "replication/member_ids.h"
#include "tests/simulation/world_parts.h"

namespace simulation {

bool World::may_lead(const Member& member) const {
  if (!plan_.configured) return !may_not_lead(member.id);
  const replication::MemberConfig* self = member.config ? member_of(*member.config, member.id) : nullptr;
  return self && self->electable();
}

uint32_t World::rank_of(const Member& member) const {
  if (!plan_.configured) return plan_.seed % 4 == 1 ? static_cast<uint32_t>(member.id % 4) : 0;
  const replication::MemberConfig* self = member.config ? member_of(*member.config, member.id) : nullptr;
  return self ? election_rank(*member.config, *self) : 0;
}

void World::start(Member& member) {
  ++member.life;
  member.machine = member.checkpoint;
  const LogImage image = member.disk.load().value();
  member.machine.applied =
      replication::newest_index_with(member.machine.stamp, image.meta.compacted.index, image.last,
                                     [&member](Index at) { return member.disk.read(at, at + 1, 1).front(); });
  member.config = member.machine.configuration != 0 ? configurations_.at(member.machine.configuration) : nullptr;
  member.old_majority = member.disk.last();
  member.store = std::make_unique<LogStore>(member.disk, 2000);  // small: most reads come from the disk
  CoreOptions options;
  options.id = member.id;
  options.election_ticks = 10;
  options.message_bytes_max = 500;
  options.inflight_messages_max = 8;
  options.flight_bytes_min = 500;
  options.flight_bytes_first = 1000;
  options.flight_bytes_max = 4000;
  options.uncommitted_bytes_max = 4000;
  options.committed_bytes_max = 500;
  options.seed = plan_.seed * 1000 + member.id % 100 * 100 + member.life;
  options.applied = member.machine.applied;
  options.candidacy = begin_role(member);
  member.core = std::make_unique<RaftCore>(options, *member.store);
  member.disk.forgets_votes = plan_.mutation == Mutation::forgets_vote;
  say(std::to_string(member.id) + " starts, log to " + std::to_string(member.store->last()));
  const uint64_t life = member.life;
  at(static_cast<int64_t>(random_.below(tick_us)), [this, id = member.id, life] { tick(id, life); });
  handle_output(member);
}

void World::crash(Member& member) {
  say(std::to_string(member.id) + " crashes");
  ++member.life;
  ++tally_.crashes;
  // Any number of the writes under way may have arrived, in order, each whole or not at all.
  if (member.disk_busy) {
    const uint64_t arrived = random_.below(member.writes.size() + 1);
    for (uint64_t i = 0; i < arrived; ++i) {
      if (member.writes[i].needed) member.disk.write({member.writes[i].batch});
    }
  }
  member.core.reset();
  member.store.reset();
  member.writes.clear();
  member.unsynced.clear();
  member.reads.clear();
  member.disk_busy = false;
  for (auto& [number, operation] : operations_) {
    if (operation.read && operation.server == member.id && !operation.over) operation.over = true;
  }
}

void World::tick(MemberId id, uint64_t life) {
  Member& member = *find(id);
  if (member.life != life || !member.up()) return;
  member.core->tick();
  handle_output(member);
  if (member.life != life) return;
  // Duties have a thread of their own, so that they see consensus at any time between two ticks.
  at(static_cast<int64_t>(random_.below(tick_us)), [this, id, life] {
    Member& on_duty = *find(id);
    if (on_duty.life == life && on_duty.up()) do_duties(on_duty);
  });
  // Clocks don't run at the same speed.
  at(tick_us - 2000 + static_cast<int64_t>(random_.below(4000)), [this, id, life] { tick(id, life); });
}

void World::handle_output(Member& member) {
  const uint64_t life = member.life;
  while (member.life == life && member.up() && member.core->has_output()) {
    Output out = member.core->take_output();
    if (out.standing) {
      say(std::to_string(member.id) + " role " + std::to_string(static_cast<int>(out.standing->role)) + " term " +
          std::to_string(out.standing->term));
      if (out.standing->role == Role::leader) check_leader(member);
      stood(member, *out.standing);
    }
    if (out.unclear && out.unclear->from <= member.core->status().commit && !out.replaced_from)
      fail("a committed entry was called unclear");
    if (out.replaced_from && *out.replaced_from <= member.machine.applied) fail("an applied entry was replaced");
    if (out.replaced_from && *out.replaced_from <= member.proposed) {
      member.role->replaced();
      member.unsure = true;
    }
    send(member, out.send);
    if (out.write) {
      if (plan_.mutation == Mutation::early_word) send(member, out.write->after);
      enqueue_write(member, std::move(*out.write));
    }
    if (out.members) {
      member.old_majority = member.core->status().commit;
      say(std::to_string(member.id) + " has a new membership of " + std::to_string(out.members->voters.size()) + " voters");
    }
    for (const EntryPtr& entry : out.committed) committed(member, entry);
    if (!out.committed.empty()) member.core->applied(out.committed.back()->index);
    for (ReadState& read : out.reads) member.reads.push_back(std::move(read));
    finish_reads(member);
    if (out.behind) copy_from_another(member, *out.behind);
  }
}

void World::send(Member& from, std::vector<Outgoing>& messages) {
  for (Outgoing& message : messages) {
    const int copies = random_.unit() < drop_ ? 0 : random_.unit() < duplicate_ ? 2 : 1;
    if (cut_[{from.id, message.to}]) continue;
    for (int i = 0; i < copies; ++i) {
      const auto delay = static_cast<int64_t>(200 + random_.below(static_cast<uint64_t>(delay_max_us_)));
      at(delay, [this, from = from.id, to = message.to, bytes = message.bytes] { deliver(from, to, bytes); });
    }
  }
  messages.clear();
}

void World::deliver(MemberId from, MemberId to, const Bytes& bytes) {
  Member* member = find(to);
  if (!member || !member->up() || cut_[{from, to}]) return;
  if (is_inquiry(bytes)) return answer(*member, from, bytes);
  const StepResult result = member->core->step(from, bytes);
  if (result == StepResult::lost_log) fail("member " + std::to_string(to) + " lost entries it had promised to keep");
  if (result == StepResult::bad_message) fail("a message between members was refused");
  handle_output(*member);
}

void World::enqueue_write(Member& member, Write write) {
  member.writes.push_back(std::move(write));
  run_disk(member);
}

// One sync at a time takes all writes that wait.
void World::run_disk(Member& member) {
  if (member.disk_busy || member.writes.empty()) return;
  member.disk_busy = true;
  const size_t count = member.writes.size();
  const uint64_t life = member.life;
  const bool work = std::any_of(member.writes.begin(), member.writes.end(), [](const Write& write) { return write.needed; });
  const int64_t duration = work ? 100 + static_cast<int64_t>(random_.below(static_cast<uint64_t>(member.disk_us_max))) : 1;
  at(duration, [this, id = member.id, life, count] {
    Member& of = *find(id);
    if (of.life != life || !of.up()) return;
    for (size_t i = 0; i < count; ++i) {
      Write write = std::move(of.writes.front());
      of.writes.pop_front();
      if (write.needed && plan_.mutation == Mutation::lost_sync && random_.below(4) == 0) {
        of.unsynced.push_back(write.batch);
      } else if (write.needed) {
        for (const LogBatch& late : of.unsynced) of.disk.write({late});
        of.unsynced.clear();
        of.disk.write({write.batch});
      }
      if (plan_.mutation != Mutation::early_word) send(of, write.after);
      of.core->written(write.number);
    }
    of.disk_busy = false;
    handle_output(of);
    if (of.life == life) run_disk(of);
  });
}

void World::committed(Member& member, const EntryPtr& entry) {
  check_committed(member, entry);
  if (entry->kind == EntryKind::data && entry->data.empty() && entry->context.empty()) member.caught_up = entry->term;
  if (is_arbiter(member.id)) {
    member.machine.applied = entry->index;
    return;
  }
  const bool succeeded = member.machine.apply(*entry);
  if (plan_.configured) adopt(member, member.machine.configuration);
  if (member.leads()) {
    check_durable(member, {entry->index, entry->term});
    acknowledge(*entry, succeeded);
  }
}

// The member stops, takes another's data as of a moment, and begins again with a log from there.
void World::copy_from_another(Member& member, const Behind& behind) {
  say(std::to_string(member.id) + " is behind the log, which begins at " + std::to_string(behind.log_begins.index));
  ++member.life;
  member.core.reset();
  member.store.reset();
  member.writes.clear();
  member.disk_busy = false;
  member.reads.clear();
  member.copying = true;
  const uint64_t life = member.life;
  at(50'000 + static_cast<int64_t>(random_.below(300'000)), [this, id = member.id, life, behind] {
    Member& to = *find(id);
    if (to.life != life) return;
    to.copying = false;
    if (is_arbiter(id)) {
      start_log(to.disk, behind.log_begins, behind.members);
      to.checkpoint.applied = behind.log_begins.index;
      ++tally_.copies;
    } else {
      for (auto& [source_id, source] : members_) {
        if (!source->up() || source_id == id || is_arbiter(source_id) || source->machine.applied < behind.log_begins.index)
          continue;
        Position as_of{source->machine.applied, 0};
        if (source->store->term(as_of.index, as_of.term) != Lookup::found) continue;
        start_log(to.disk, as_of, source->store->meta().members);
        to.checkpoint = source->machine;
        ++tally_.copies;
        say(std::to_string(id) + " has a copy of " + std::to_string(source_id) + " as of " + std::to_string(as_of.index));
        break;
      }
    }
    start(to);
  });
}

}  // namespace simulation
