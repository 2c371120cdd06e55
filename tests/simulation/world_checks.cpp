// These rules must hold after each step, and at the end.
#include <algorithm>

#include "tests/simulation/world_parts.h"

namespace simulation {

void World::check_leader(Member& member) {
  ++tally_.elections;
  const Term term = member.core->status().standing.term;
  const auto [known, fresh] = leaders_.try_emplace(term, member.id);
  if (!fresh && known->second != member.id) fail("two leaders in term " + std::to_string(term));
  if (is_arbiter(member.id)) fail("an arbiter leads");
  for (auto entry = committed_.lower_bound(member.store->first()); entry != committed_.end(); ++entry) {
    Term own = 0;
    if (member.store->term(entry->first, own) != Lookup::found || own != entry->second->term) {
      fail("leader " + std::to_string(member.id) + " of term " + std::to_string(term) + " lacks the committed entry " +
           std::to_string(entry->first));
    }
  }
}

void World::check_committed(Member& member, const EntryPtr& entry) {
  const auto [known, fresh] = committed_.try_emplace(entry->index, entry);
  if (!fresh && known->second->data.empty() && known->second->term == entry->term)
    known->second = entry;  // an arbiter's came first
  const bool same = known->second->term == entry->term && (is_arbiter(member.id) || known->second->data == entry->data);
  if (!same) fail("two entries were committed at " + std::to_string(entry->index));
}

bool World::durable_among(const std::vector<MemberId>& voters, Position at) {
  size_t data = 0, have = 0;
  for (MemberId id : voters) {
    if (is_arbiter(id)) continue;
    ++data;
    have += find(id)->disk.holds(at);
  }
  return have >= std::min(data, voters.size() / 2 + 1);
}

void World::check_durable(Member& member, Position at) {
  const Membership& members = member.store->meta().members;
  if (at.index <= member.old_majority) return;
  const bool holds =
      durable_among(members.voters, at) && (members.voters_outgoing.empty() || durable_among(members.voters_outgoing, at));
  if (!holds) fail("entry " + std::to_string(at.index) + " is committed but not on the disks of a majority");
}

void World::check_logs() {
  for (auto a = members_.begin(); a != members_.end(); ++a) {
    if (!a->second->up()) continue;
    for (auto b = std::next(a); b != members_.end(); ++b) {
      if (!b->second->up()) continue;
      LogStore &left = *a->second->store, &right = *b->second->store;
      const Index from = std::max(left.first(), right.first());
      Index top = std::min(left.last(), right.last());
      Term one = 0, other = 0;
      const auto agree = [&](Index index) {
        return left.term(index, one) == Lookup::found && right.term(index, other) == Lookup::found && one == other;
      };
      while (top >= from && !agree(top)) --top;
      if (top < from) continue;
      std::vector<EntryPtr> ours, theirs;
      left.entries(from, top + 1, UINT64_MAX, ours);
      right.entries(from, top + 1, UINT64_MAX, theirs);
      for (size_t i = 0; i < ours.size(); ++i) {
        const bool data_known = !is_arbiter(a->first) && !is_arbiter(b->first);
        if (ours[i]->term != theirs[i]->term || (data_known && ours[i]->data != theirs[i]->data)) {
          fail("logs of " + std::to_string(a->first) + " and " + std::to_string(b->first) + " agree at " + std::to_string(top) +
               " but not at " + std::to_string(ours[i]->index));
        }
      }
    }
  }
}

void World::check_end() {
  Member* leader = nullptr;
  for (auto& [id, member] : members_) {
    if (member->leads() && (!leader || member->core->status().standing.term > leader->core->status().standing.term))
      leader = member.get();
  }
  if (!leader) fail("nobody leads 20 seconds after everything healed");
  if (!leader->primary()) fail("the leader isn't primary 20 seconds after everything healed");
  const auto late = std::count_if(operations_.begin(), operations_.end(), [&](const auto& each) {
    return each.second.returned && *each.second.returned > (plan_.faults_until_ms + 10'000) * 1000;
  });
  if (late == 0) fail("no operation succeeded after everything healed");

  if (plan_.configured) check_configured(*leader);
  const Membership& members = leader->store->meta().members;
  for (MemberId id : members.voters) {
    Member& member = *find(id);
    if (!member.up()) fail("member " + std::to_string(id) + " did not come back");
    if (member.machine.applied != leader->machine.applied) {
      fail("member " + std::to_string(id) + " has applied " + std::to_string(member.machine.applied) + " of " +
           std::to_string(leader->machine.applied));
    }
    if (!is_arbiter(id) && member.machine.history != leader->machine.history)
      fail("member " + std::to_string(id) + " has another history");
  }
  std::vector<std::vector<RegisterOperation>> by_key(registers);
  std::vector<SetOperation> sets;
  for (auto& [id, operation] : operations_) {
    if (operation.refused) continue;
    const Command& command = operation.command;
    const auto key = static_cast<size_t>(command.key);
    if (operation.read) {
      if (!operation.returned) continue;
      by_key[key].push_back({RegisterOperation::Kind::read, operation.called, operation.returned, operation.value, 0, true});
      sets.push_back({false, operation.called, operation.returned, 0, operation.contents});
    } else if (command.kind == Command::Kind::add) {
      if (operation.returned && !leader->machine.elements.count(command.value))
        fail("acknowledged element " + std::to_string(command.value) + " is gone");
      sets.push_back({true, operation.called, operation.returned, command.value, {}});
    } else {
      const bool write = command.kind == Command::Kind::write;
      by_key[key].push_back({write ? RegisterOperation::Kind::write : RegisterOperation::Kind::compare_and_set, operation.called,
                             operation.returned, command.value, command.expected, operation.succeeded});
    }
  }
  if (const std::string fault = set_fault(sets); !fault.empty()) fail(fault);
  for (size_t key = 0; key < by_key.size(); ++key) {
    if (!linearizable(by_key[key])) fail("the history of register " + std::to_string(key) + " is not linearizable");
  }
}

}  // namespace simulation
