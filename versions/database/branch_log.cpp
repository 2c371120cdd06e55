// This part of BranchedDatabase appends its changes to the log. branch_replay.cpp replays them.
#include <unordered_map>

#include "storage/engine/interruptible_waits.h"
#include "versions/database/branched_database.h"
#include "versions/log/branch_change.h"

namespace versions {

using base::ErrorCode;
using base::OperationError;

void BranchedDatabase::append_to_log(Transaction& transaction, const bson::Document& entry) const {
  if (log_) log_->branches_changed(transaction, name_, entry);
}

Hash BranchedDatabase::commit_id(Transaction& transaction, CommitNumber commit) const {
  return branches_.graph().commit(transaction, commit)->id;
}

// Appends an entry for each document of which the branch shows another content, or none, from now on.
void BranchedDatabase::log_documents(Transaction& transaction, const std::string& into,
                                     const std::map<size_t, BranchStore::Adoption>& adoptions) {
  if (!log_) return;
  const std::string db = name_of(into);
  for (const auto& [collection, adoption] : adoptions) {
    const SharedCollection& shared = *in_order_[collection];
    const std::string ns = db + "." + collection_name(shared);
    const std::string uuid = shared.base.uuid_bytes();
    std::unordered_map<Bytes, RecordId> gone;
    const auto removed = shared.store.scan_set(transaction, adoption.removed);
    while (removed->next()) gone.emplace(key_of(removed->content()), removed->record());
    const auto replaced = [&](RecordId record, const bson::DocumentView* after) {
      storage::ask_interrupted();
      const bson::Document before(shared.store.content(transaction, record).value());
      const bson::DocumentView seen = before.view();
      const Stamp stamp = log_->document_changed(transaction, ns, uuid, &seen, after);
      log_->document_replaced(transaction, shared.base.id(), record, stamp, seen);
    };
    const auto come = [&](const Bytes& key, BytesView content) {
      const bson::DocumentView after(content);
      const auto old = gone.find(key);
      if (old == gone.end()) {
        storage::ask_interrupted();
        log_->document_changed(transaction, ns, uuid, nullptr, &after);
        return;
      }
      replaced(old->second, &after);
      gone.erase(old);
    };
    for (const auto& [key, record] : adoption.adopted) come(key, shared.store.content(transaction, record).value());
    for (const auto& [key, document] : adoption.written) come(key, document);
    for (const auto& [key, record] : gone) replaced(record, nullptr);
  }
}

void BranchedDatabase::log_difference(Transaction& transaction, const Branch& before, CommitNumber now) {
  std::map<size_t, BranchStore::Adoption> adoptions;
  for (size_t i = 0; log_ && i < in_order_.size(); ++i) {
    const SharedCollection& shared = *in_order_[i];
    Difference difference =
        shared.store.diff(transaction, shared.view_of(transaction, before.head), shared.view_of(transaction, now));
    BranchStore::Adoption adoption;
    const auto come = shared.store.scan_set(transaction, difference.only_b);
    while (come->next()) adoption.adopted.emplace_back(key_of(come->content()), come->record());
    adoption.removed = std::move(difference.only_a);
    if (!adoption.empty()) adoptions.emplace(i, std::move(adoption));
  }
  log_documents(transaction, before.name, adoptions);
}

void BranchedDatabase::log_advance(Transaction& transaction, const std::string& branch, CommitNumber to) const {
  append_to_log(transaction, log::AdvanceBranch{.branch = branch, .commit = commit_id(transaction, to)}.encode());
}

void BranchedDatabase::log_merge(Transaction& transaction, const std::string& into, CommitNumber theirs, const Commit& commit,
                                 const CommitInfo& info, Stamp generation, const MergedElsewhere* imported) const {
  log::MergeBranch entry{.into = into,
                         .from = commit_id(transaction, theirs),
                         .parents = info.graft ? 1 : static_cast<int32_t>(commit.parents.size()),
                         .generation = generation,
                         .roots = {},
                         .made = log::MadeCommit::of(commit, info)};
  for (const CollectionState& one : commit.collections) entry.roots.push_back({one.label, one.digest});
  if (imported && imported->imported) {
    entry.imported = true;
    for (const auto& [collection, documents] : imported->named) {
      for (const DocumentHash& one : documents) entry.named.push_back({uuid_of(collection), one.key, one.hash});
    }
  }
  append_to_log(transaction, entry.encode());
}

void BranchedDatabase::log_sweep(Transaction& transaction, const Branches::Swept& swept) const {
  if (swept.dropped.empty()) return;
  log::Sweep entry;
  for (const CommitNumber number : swept.dropped) entry.commits.push_back(commit_id(transaction, number));
  append_to_log(transaction, entry.encode());
}

}  // namespace versions
