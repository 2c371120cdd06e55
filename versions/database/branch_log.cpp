// BranchedDatabase: what the log is told of changes, and changes made again from it.
#include <unordered_map>

#include "bson/diff.h"
#include "bson/keystring.h"
#include "storage/engine/names.h"
#include "versions/database/branched_database.h"
#include "versions/database/log_fields.h"

namespace versions {

using base::ErrorCode;
using base::OperationError;

void BranchedDatabase::tell(Transaction& transaction, bson::Builder& command) const {
  if (log_) log_->branches_changed(transaction, name_, command.done());
}

// Each document that the branch shows another of now.
void BranchedDatabase::tell_documents(Transaction& transaction, const std::string& into,
                                      const std::map<size_t, BranchStore::Adoption>& adoptions) {
  if (!log_) return;
  uint64_t bytes = 0;
  const auto changed = [&](const std::string& ns, BytesView uuid, const bson::DocumentView* before,
                           const bson::DocumentView* after) {
    bytes += log_->document_changed(transaction, ns, uuid, before, after);
    if (bytes <= log_->documents_bytes_max()) return;
    throw OperationError(ErrorCode::illegal_operation,
                         "the merge changes documents of more than " + std::to_string(log_->documents_bytes_max() >> 20) +
                             " MB, which is more than the replica set's log takes in one transaction");
  };
  const std::string db = name_of(into);
  for (const auto& [collection, adoption] : adoptions) {
    const SharedCollection& shared = *in_order_[collection];
    const std::string ns = db + "." + collection_name(shared);
    const std::string uuid = shared.base.uuid_bytes();
    std::unordered_map<Bytes, RecordId> gone;
    const auto removed = shared.store.scan_set(transaction, adoption.removed);
    while (removed->next()) gone.emplace(key_of(removed->content()), removed->record());
    const auto before = [&](RecordId record) { return bson::Document(shared.store.content(transaction, record).value()); };
    const auto come = [&](const Bytes& key, BytesView content) {
      const bson::DocumentView after(content);
      const auto old = gone.find(key);
      if (old == gone.end()) return changed(ns, uuid, nullptr, &after);
      const bson::Document was = before(old->second);
      const bson::DocumentView seen = was.view();
      changed(ns, uuid, &seen, &after);
      gone.erase(old);
    };
    for (const auto& [key, record] : adoption.adopted) come(key, shared.store.content(transaction, record).value());
    for (const auto& [key, document] : adoption.written) come(key, document);
    for (const auto& [key, record] : gone) {
      const bson::Document was = before(record);
      const bson::DocumentView seen = was.view();
      changed(ns, uuid, &seen, nullptr);
    }
  }
}

void BranchedDatabase::tell_difference(Transaction& transaction, const Branch& before, CommitNumber now) {
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
  tell_documents(transaction, before.name, adoptions);
}

void BranchedDatabase::tell_advance(Transaction& transaction, const std::string& branch, CommitNumber to) const {
  bson::Builder said;
  said.append("advanceBranch", branch).append("commit", log::id(*branches_.graph().commit(transaction, to)));
  tell(transaction, said);
}

void BranchedDatabase::tell_collection(Transaction& transaction, std::string_view command, const Branch& branch,
                                       const SharedCollection& shared, const Branch* from) const {
  bson::Builder said;
  said.append(command, branch.name).append("collection", bson::Binary{4, shared.base.uuid_bytes()});
  if (from) said.append("from", from->name);
  tell(transaction, said);
}

void BranchedDatabase::tell_merge(Transaction& transaction, const std::string& into, CommitNumber theirs, const Commit& commit,
                                  const CommitInfo& info, Stamp generation) const {
  bson::Builder said;
  said.append("merge", into).append("from", log::id(*branches_.graph().commit(transaction, theirs)));
  said.append("parents", static_cast<int32_t>(commit.parents.size()));
  log::append(said, "generation", generation);
  {
    auto roots = said.array("roots");
    for (const CollectionState& one : commit.collections) {
      auto root = roots.object();
      root.append("collection", bson::Binary{4, one.label}).append("root", bson::Binary{0, versions::view(one.digest)});
    }
  }
  log::append(said, commit, info);
  tell(transaction, said);
}

void BranchedDatabase::tell_sweep(Transaction& transaction, const Branches::Swept& swept) const {
  if (swept.dropped.empty()) return;
  bson::Builder said;
  said.append("sweep", 1);
  {
    auto commits = said.array("commits");
    for (const CommitNumber number : swept.dropped) commits.append(log::id(*branches_.graph().commit(transaction, number)));
  }
  tell(transaction, said);
}

void BranchedDatabase::make_again(Transaction& transaction, const storage::BranchChange& change, const Lost& lost) {
  const bson::DocumentView command = change.command;
  const std::string_view what = command.begin()->name;
  transaction.set_next_stamp(change.stamp);  // before it is told: snapshots are before it, or behind
  if (what == "setRetention") return set_retention(transaction, log::retention(command));
  if (what == "sweep") {
    const auto lock = in_use();
    std::vector<CommitNumber> commits;
    for (const auto& one : log::array(command, "commits")) commits.push_back(log::commit(transaction, branches_.graph(), one));
    return tell_sweep(transaction, branches_.sweep_again(transaction, std::move(commits), losing(transaction, lost)));
  }
  if (what == "freeNodes") {
    free_nodes(transaction, {});
    return;
  }
  if (what == "makeTree") {
    const auto lock = in_use();
    const int64_t documents = log::number(command, "documents");
    if (documents < 1) log::refuse("a part of a tree that can't be made");
    return make_tree_part(transaction, {.commit = log::commit(transaction, branches_.graph(), command, "commit"),
                                        .collection = collection_of_uuid(log::binary(command, "collection")),
                                        .kind = log::tree_kind(command),
                                        .documents_max = static_cast<size_t>(documents)});
  }
  const std::string name = log::text(command, what);
  if (what != "merge" && what != "advanceBranch" && !change.documents.empty()) log::refuse("documents of a change that has none");
  const auto commit = [&] { return log::commit(transaction, branches_.graph(), command, "commit"); };
  if (what == "createBranch") {
    Place from{.branch = {}, .commit = commit()};
    if (command.find("from").exists()) from.branch = branch(transaction, {.name = log::text(command, "from")});
    create(transaction, name, from);
  } else if (what == "dropBranch") {
    drop(transaction, name, lost);
  } else if (what == "renameBranch") {
    rename(transaction, name, log::text(command, "to"));
  } else if (what == "resetBranch") {
    reset(transaction, name, commit(), lost);
  } else if (what == "createTag") {
    create_tag(transaction, name, commit());
  } else if (what == "dropTag") {
    drop_tag(transaction, name);
  } else if (what == "commit") {
    std::set<size_t> only;
    if (command.find("collections").exists()) {
      for (const auto& one : log::array(command, "collections")) only.insert(collection_of_uuid(log::binary(one)));
    }
    const auto lock = in_use();
    if (!this->commit(transaction, name, log::commit_info(command), only, log::held(command)))
      log::refuse("here there is nothing to commit");
  } else if (what == "makeCollection" || what == "dropCollection") {
    const Branch of = branch(transaction, {.name = name});
    const storage::CollectionId collection = in_order_[collection_of_uuid(log::binary(command, "collection"))]->base.id();
    const bool changed = what == "makeCollection" ? make_collection(transaction, of, collection)
                                                  : drop_collection(transaction, of, collection, lost);
    if (!changed) log::refuse("here the branch has the collection, or has it not, as it was to be afterwards");
  } else if (what == "takeCollection") {
    const Branch from = branch(transaction, {.name = log::text(command, "from")});
    take_collection(transaction, branch(transaction, {.name = name}), from,
                    in_order_[collection_of_uuid(log::binary(command, "collection"))]->base.id(), lost);
  } else if (what == "merge") {
    merge_again(transaction, change);
  } else if (what == "advanceBranch") {
    const auto lock = in_use();
    const Branch before = branch(transaction, {.name = name});
    branches_.advance_again(transaction, name, commit());
    Merge merge;
    index_advanced(transaction, before, {}, merge);
    if (!merge.conflicts.empty()) log::refuse("documents of a branch want the same key of a unique index");
    tell_advance(transaction, name, commit());
  } else if (what == "beginMerge") {
    begin_merge(transaction, branch(transaction, {.name = name}), {commit(), bson::Document(log::object(command, "request"))});
  } else if (what == "endMerge") {
    end_merge(transaction, branch(transaction, {.name = name}));
  } else if (what == "decide") {
    Decision decision{.take = static_cast<Decision::Take>(log::number(command, "take")),
                      .document = Bytes(log::binary(command, "document")),
                      .sides = {}};
    const BytesView sides = log::binary(command, "sides");
    if (sides.size() != decision.sides.size() || decision.take > Decision::Take::document)
      log::refuse("a decision of a merge that can't be read");
    std::copy(sides.begin(), sides.end(), decision.sides.begin());
    const SharedCollection& shared = *in_order_[collection_of_uuid(log::binary(command, "collection"))];
    decide(transaction, branch(transaction, {.name = name}),
           {.collection = shared.base.id(), .key = Bytes(log::binary(command, "key")), .base = {}, .ours = {}, .theirs = {}},
           decision);
  } else {
    log::refuse("an unknown command");
  }
}

size_t BranchedDatabase::collection_of_uuid(BytesView uuid) const {
  for (size_t i = 0; i < in_order_.size(); ++i) {
    if (in_order_[i]->base.uuid_bytes() == uuid) return i;
  }
  log::refuse("a change of branches is of a collection that isn't here");
}

namespace {

bson::ValueView id_of(const storage::BranchChange::Document& change) {
  return static_cast<bson::ValueView>((change.o2 ? *change.o2 : change.o).find("_id"));
}

// What the entry makes of `before`.
Bytes made(const storage::BranchChange::Document& change, const std::optional<Bytes>& before) {
  if (!change.o2) return Bytes(change.o.bytes());
  const auto diff = change.o.find("diff");
  if (!diff.is_object() || !before) log::refuse("a document of a merge that can't be made");
  return Bytes(bson::diff::apply(bson::DocumentView(*before), diff.as_document()).or_throw().bytes());
}

}  // namespace

// Nothing is planned: the documents say what the branch shows from now on. What the other side has just so is adopted from there,
// as it was where the merge was decided.
void BranchedDatabase::merge_again(Transaction& transaction, const storage::BranchChange& change) {
  const auto lock = in_use();
  const bson::DocumentView command = change.command;
  const std::string into = log::text(command, "merge");
  const Branch before = branch(transaction, {.name = into});
  MergedElsewhere merged{.theirs = log::commit(transaction, branches_.graph(), command, "from"),
                         .has_two_parents = log::number(command, "parents") == 2};
  for (const auto& one : log::array(command, "roots")) {
    if (!one.is_object()) log::refuse("roots of a merge that can't be read");
    const BytesView root = log::binary(one.as_document(), "root");
    if (root.size() != sizeof(Hash)) log::refuse("a root of a merge that can't be read");
    merged.roots.emplace_back(log::binary(one.as_document(), "collection"), merkle::read_hash(root.data()));
  }
  for (const storage::BranchChange::Document& document : change.documents) {
    const size_t at = collection_at(storage::collection_of(document.ns));
    SharedCollection& shared = *in_order_[at];
    BranchStore::Adoption& adoption = merged.adoptions[at];
    bson::KeyString text;
    text.append(id_of(document));
    Bytes key = std::move(text).bytes();
    const RecordId ours = shared.store.find(transaction, shared.view_of(transaction, before.head), key);
    if ((document.op == 'i') == (ours != 0))
      log::refuse("a document of a merge is here, or is not, where it should be the other way");
    if (ours != 0) adoption.removed.add(ours);
    if (document.op == 'd') continue;
    Bytes after = made(document, ours == 0 ? std::nullopt : shared.store.content(transaction, ours));
    const RecordId theirs = shared.store.find(transaction, shared.view_of(transaction, merged.theirs), key);
    if (theirs != 0 && shared.store.content(transaction, theirs) == after) {
      adoption.adopted.emplace_back(std::move(key), theirs);
    } else {
      adoption.written.emplace_back(std::move(key), std::move(after));
    }
  }
  const Stamp generation = log::stamp(command, "generation");
  const CommitInfo info = log::commit_info(command);
  const auto commit = branches_.merge_again(transaction, into, merged, info, generation);
  const Branch after = branch(transaction, {.name = into});
  Merge merge;
  for (SharedCollection* shared : in_order_) index_merged(transaction, *shared, before, after, generation, {}, merge);
  if (!merge.conflicts.empty())
    log::refuse("documents of a merge want the same key of the unique index " + merge.conflicts.front().index);
  tell_merge(transaction, into, merged.theirs, *commit, info, generation);
}

}  // namespace versions
