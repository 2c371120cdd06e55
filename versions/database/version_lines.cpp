#include "versions/database/version_lines.h"

#include <algorithm>

#include "versions/database/branched_database.h"

namespace versions {

VersionLines::VersionLines(Of of, std::vector<WantedVersion> wanted, Records records)
    : LoggedWrites(std::move(of)), wanted_(std::move(wanted)), records_(std::move(records)) {
  for (const WantedVersion& one : wanted_) {
    steps_[one.key];
    if (one.kind == WantedVersion::Kind::committed) by_commit_.emplace(one.commit, &one);
  }
}

void VersionLines::meet_end() {
  for (const WantedVersion& one : wanted_) {
    if (one.kind != WantedVersion::Kind::pending) continue;
    const Line* const at = line(one.branch, one.key, true);
    if (at && at->newest == one.stamp) found_[one.record] = {*at->step, one.stamp, {}};
  }
}

void VersionLines::write(const LoggedEntry& entry, const std::string& on) {
  using Kind = LoggedEntry::Kind;
  Bytes key;
  if (entry.kind == Kind::names) {
    // The number is that of a record in the collection with this UUID that the database had then.
    const bool here = entry.collection == of_.collection;
    const auto at = here ? records_.keys.find(entry.record) : records_.keys.end();
    if (at == records_.keys.end()) {
      if (!here || !records_.others.contains(entry.record)) restart(on, std::nullopt);
      return;
    }
    key = at->second;
  } else {
    key = key_of_entry(entry);
  }
  const auto followed = steps_.find(key);
  if (followed == steps_.end() || given_up_.contains(key)) return;
  std::vector<Step>& steps = followed->second;
  if (steps.size() >= steps_max) return give_up(key);
  const auto put = [&](const Step& step) {
    steps.push_back(step);
    return steps.size() - 1;
  };
  BranchLines& branch = branches_[on];
  const auto before = branch.of_keys.find(key);
  Line now{.step = {}, .newest = entry.stamp, .transaction = entry.transaction};
  switch (entry.kind) {
    case Kind::names: now.step = put({.kind = Step::Kind::names, .stamp = entry.stamp, .record = entry.record}); break;
    case Kind::has: now.step = put({.kind = Step::Kind::has, .stamp = entry.stamp}); break;
    case Kind::changes: {
      std::optional<size_t> changed;
      if (before != branch.of_keys.end())
        changed = before->second.step;
      else if (branch.origin)
        changed = put({.kind = Step::Kind::shown_by, .commit = *branch.origin});
      if (!changed) changed = put({.kind = Step::Kind::unknown});
      now.step = put({.kind = Step::Kind::changes, .stamp = entry.stamp, .before = changed});
      break;
    }
    case Kind::removes:
    case Kind::command: break;
  }
  branch.of_keys[key] = now;
}

void VersionLines::change(const log::BranchChange& change, const LoggedEntry& entry) {
  if (follow_branch(branches_, change, [this](const auto& branch, const Hash& commit) { restart(branch, commit); })) return;
  if (std::get_if<log::BeginBranches>(&change)) {
    begin();
  } else if (const auto* gone = std::get_if<log::DropCollection>(&change)) {
    if (gone->collection == of_.uuid) restart(gone->branch, std::nullopt);
  } else if (const auto* taken = std::get_if<log::TakeCollection>(&change)) {
    if (taken->collection != of_.uuid) return;
    restart(taken->branch, std::nullopt);
    restart(taken->from, std::nullopt);
  } else if (const auto* committed = std::get_if<log::CommitBranch>(&change)) {
    commit(*committed);
  } else if (const auto* merged = std::get_if<log::MergeBranch>(&change)) {
    merge(*merged, entry.transaction);
  } else if (const auto* advanced = std::get_if<log::AdvanceBranch>(&change)) {
    take_over(advanced->branch, entry.transaction);
  }
}

void VersionLines::begin() {
  for (const WantedVersion& one : wanted_) {
    if (one.kind != WantedVersion::Kind::first) continue;
    if (const Line* const at = line(std::string(BranchedDatabase::main), one.key, false))
      found_[one.record] = {*at->step, at->newest, {}};
  }
}

void VersionLines::commit(const log::CommitBranch& entry) {
  const auto& of = entry.collections;
  if (!of.empty() && std::find(of.begin(), of.end(), of_.uuid) == of.end()) return;
  const auto [from, to] = by_commit_.equal_range(entry.made.id);
  for (auto one = from; one != to; ++one) {
    const Line* const at = line(entry.branch, one->second->key, true);
    if (at && entry.held.has(at->newest)) found_[one->second->record] = {*at->step, at->newest, {}};
  }
}

void VersionLines::merge(const log::MergeBranch& entry, Stamp transaction) {
  take_over(entry.into, transaction);
  const auto [from, to] = by_commit_.equal_range(entry.made.id);
  for (auto one = from; one != to; ++one) {
    const Line* const at = line(entry.into, one->second->key, false);
    if (!at || at->transaction != transaction) continue;
    found_[one->second->record] = {*at->step, entry.generation, Merge{entry.from, entry.imported}};
  }
}

void VersionLines::take_over(const std::string& branch, Stamp transaction) {
  const auto at = branches_.find(branch);
  if (at != branches_.end()) at->second.taken_over.insert(transaction);
}

void VersionLines::restart(const std::string& branch, std::optional<Hash> origin) {
  branches_[branch] = {.origin = origin, .of_keys = {}, .taken_over = {}};
}

// Versions of the key that were found before stay found.
void VersionLines::give_up(const Bytes& key) {
  given_up_.insert(key);
  for (auto& [name, branch] : branches_) branch.of_keys.erase(key);
}

std::string VersionLines::why_not(const Bytes& key) const {
  return given_up_.contains(key) ? "the log has more than " + std::to_string(steps_max) + " writes of it" : why_hole_;
}

const VersionLines::Line* VersionLines::line(const std::string& branch, const Bytes& key, bool own) const {
  const auto at = branches_.find(branch);
  if (at == branches_.end()) return nullptr;
  const auto line = at->second.of_keys.find(key);
  if (line == at->second.of_keys.end() || !line->second.step) return nullptr;
  return own && at->second.taken_over.contains(line->second.transaction) ? nullptr : &line->second;
}

}  // namespace versions
