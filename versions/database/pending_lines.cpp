#include "versions/database/pending_lines.h"

#include <algorithm>

#include "bson/keystring.h"
#include "versions/database/branched_database.h"

namespace versions {

void PendingLines::write(const LoggedEntry& entry, const std::string& on) {
  using Kind = LoggedEntry::Kind;
  OfBranch& branch = branches_[on];
  std::optional<Bytes> key;
  if (entry.kind == Kind::names) {
    // The number is that of a record in the collection with this UUID that the database had then.
    if (entry.collection != of_.collection) {
      branch.is_whole = false;
      return;
    }
    key = key_of_(entry.record);
    if (!key) return;  // a later write removed the document
  } else {
    key = key_of_entry(entry);
  }
  Write& write = branch.writes[*std::move(key)];
  const bool is_changed_in_place = write.there;
  if (write.first == 0) write.first = entry.stamp;
  write.newest = write.generation = entry.stamp;
  write.transaction = entry.transaction;
  write.there = entry.kind != Kind::removes;
  write.may_be_purged = false;
  if (entry.kind == Kind::names)
    write.record = entry.record;
  else if (!write.there || !is_changed_in_place)
    write.record = 0;
}

void PendingLines::change(const log::BranchChange& change, const LoggedEntry& entry) {
  const auto of_this = [&](const auto& of) { return of.collection == of_.uuid; };
  const auto restart = [&](const std::string& branch, const Hash& head) { branches_[branch] = {.head = head, .is_whole = true}; };
  if (follow_branch(branches_, change, restart)) return;
  if (const auto* begun = std::get_if<log::BeginBranches>(&change)) {
    restart(std::string(BranchedDatabase::main), begun->made.id);
  } else if (const auto* made = std::get_if<log::MakeCollection>(&change); made && of_this(*made)) {
    branches_[made->branch].listed = Listed{.stamp = entry.stamp, .lists = true};
  } else if (const auto* gone = std::get_if<log::DropCollection>(&change); gone && of_this(*gone)) {
    drop_collection(branches_[gone->branch], entry.stamp);
  } else if (const auto* taken = std::get_if<log::TakeCollection>(&change); taken && of_this(*taken)) {
    OfBranch from = std::move(branches_[taken->from]);
    branches_.erase(taken->from);
    OfBranch& into = branches_[taken->branch];
    drop_collection(into, entry.stamp);
    into.listed->lists = true;
    into.is_whole = from.is_whole;
    into.writes = std::move(from.writes);
    for (auto& [key, write] : into.writes) write.first = write.newest = entry.stamp;
  } else if (const auto* committed = std::get_if<log::CommitBranch>(&change)) {
    commit(*committed);
  } else if (const auto* merged = std::get_if<log::MergeBranch>(&change)) {
    take_over(merged->into, merged->made.id, entry.transaction);
  } else if (const auto* advanced = std::get_if<log::AdvanceBranch>(&change)) {
    take_over(advanced->branch, advanced->commit, entry.transaction);
  } else if (const auto* purged = std::get_if<log::Purge>(&change)) {
    bson::KeyString id;
    id.append(purged->id.view());
    purge(id.bytes());
  }
}

void PendingLines::commit(const log::CommitBranch& entry) {
  OfBranch& branch = branches_[entry.branch];
  branch.head = entry.made.id;
  const auto& of = entry.collections;
  if (!of.empty() && std::find(of.begin(), of.end(), of_.uuid) == of.end()) return;
  for (auto at = branch.writes.begin(); at != branch.writes.end();) {
    if (entry.held.has(at->second.newest)) {
      at = branch.writes.erase(at);
      continue;
    }
    if (entry.held.has(at->second.first)) at->second.first = at->second.newest;
    ++at;
  }
  if (branch.listed && entry.held.has(branch.listed->stamp)) branch.listed.reset();
  // Each write that the commit leaves out is newer than the part that the log lacks.
  if (entry.held.below >= known_from_) branch.is_whole = true;
}

void PendingLines::take_over(const std::string& name, const Hash& commit, Stamp transaction) {
  OfBranch& branch = branches_[name];
  branch.head = commit;
  branch.listed.reset();  // nothing may be pending before a merge
  std::erase_if(branch.writes, [&](const auto& one) { return one.second.transaction == transaction; });
}

void PendingLines::drop_collection(OfBranch& branch, Stamp stamp) {
  branch.writes.clear();
  branch.is_whole = true;  // nothing else is pending
  branch.listed = Listed{.stamp = stamp, .lists = false};
}

void PendingLines::purge(const Bytes& key) {
  for (auto& [name, branch] : branches_) {
    const auto at = branch.writes.find(key);
    if (at != branch.writes.end()) at->second.may_be_purged = true;
  }
}

}  // namespace versions
