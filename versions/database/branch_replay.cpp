// This part of BranchedDatabase replays changes that another member logged (branch_log.cpp).
#include "bson/diff.h"
#include "bson/keystring.h"
#include "storage/engine/names.h"
#include "versions/database/branched_database.h"
#include "versions/log/branch_change.h"

namespace versions {

namespace {

bson::ValueView id_of(const storage::BranchChange::Document& change) {
  return static_cast<bson::ValueView>((change.o2 ? *change.o2 : change.o).find("_id"));
}

Bytes key_of(const storage::BranchChange::Document& change) {
  bson::KeyString text;
  text.append(id_of(change));
  return std::move(text).bytes();
}

// The document after the change that a log entry describes. `before`: the document that the branch shows; nullopt: none.
Bytes document_after(const storage::BranchChange::Document& change, const std::optional<Bytes>& before) {
  if (!change.o2) return Bytes(change.o.bytes());
  const auto diff = change.o.find("diff");
  if (!diff.is_object() || !before) log::refuse("the log describes a change of a document that can't be replayed");
  return Bytes(bson::diff::apply(bson::DocumentView(*before), diff.as_document()).or_throw().bytes());
}

}  // namespace

// Replay has one overload for each kind of log entry.
class BranchedDatabase::Replay {
 public:
  Replay(BranchedDatabase& database, Transaction& transaction, const storage::BranchChange& change, const Lost& lost)
      : database_(database), transaction_(transaction), change_(change), lost_(lost) {}

  void operator()(const log::BeginBranches&) const { log::refuse("the database has branches already"); }
  void operator()(const log::CreateBranch& entry) const {
    Place from{.branch = {}, .commit = commit(entry.commit)};
    if (entry.from) from.branch = branch(*entry.from);
    database_.create(transaction_, entry.branch, from);
  }
  void operator()(const log::DropBranch& entry) const { database_.drop(transaction_, entry.branch, lost_); }
  void operator()(const log::RenameBranch& entry) const { database_.rename(transaction_, entry.branch, entry.to); }
  void operator()(const log::ResetBranch& entry) const {
    database_.reset(transaction_, entry.branch, commit(entry.commit), lost_);
  }
  void operator()(const log::CreateTag& entry) const { database_.create_tag(transaction_, entry.tag, commit(entry.commit)); }
  void operator()(const log::DropTag& entry) const { database_.drop_tag(transaction_, entry.tag); }

  void operator()(const log::CommitBranch& entry) const {
    const InUse in_use(database_);
    std::set<size_t> only;
    for (const Bytes& uuid : entry.collections) only.insert(collection(uuid));
    if (!database_.commit(transaction_, entry.branch, entry.made.info(), only, entry.held))
      log::refuse("the log has a commit of branch '" + entry.branch + "', and nothing is pending there");
  }
  void operator()(const log::MakeTree& entry) const {
    const InUse in_use(database_);
    database_.make_tree_part(transaction_, {.commit = commit(entry.commit),
                                            .collection = collection(entry.collection),
                                            .kind = entry.tree,
                                            .documents_max = static_cast<size_t>(entry.documents)});
  }

  void operator()(const log::MakeCollection& entry) const {
    if (!database_.make_collection(transaction_, branch(entry.branch), collection_id(entry.collection)))
      log::refuse("the log makes a collection on branch '" + entry.branch + "', which has it already");
  }
  void operator()(const log::DropCollection& entry) const {
    if (!database_.drop_collection(transaction_, branch(entry.branch), collection_id(entry.collection), lost_))
      log::refuse("the log drops a collection from branch '" + entry.branch + "', which doesn't have it");
  }
  void operator()(const log::TakeCollection& entry) const {
    const Branch from = branch(entry.from);
    database_.take_collection(transaction_, branch(entry.branch), from, collection_id(entry.collection), lost_);
  }

  void operator()(const log::MergeBranch& entry) const { merge(entry); }
  void operator()(const log::AdvanceBranch& entry) const {
    const InUse in_use(database_);
    const Branch before = branch(entry.branch);
    const CommitNumber to = commit(entry.commit);
    for (const storage::BranchChange::Document& document : change_.documents) {
      SharedCollection& shared = collection_of(document);
      report_replaced(document, shared, shown(shared, before.head, key_of(document)));
    }
    database_.branches_.replay_advance(transaction_, entry.branch, to);
    Merge merge;
    database_.index_advanced(transaction_, before, {}, merge);
    check_unique_keys(merge);
    database_.log_advance(transaction_, entry.branch, to);
  }
  void operator()(const log::BeginMerge& entry) const {
    database_.begin_merge(transaction_, branch(entry.into), {commit(entry.commit), entry.request});
  }
  void operator()(const log::Decide& entry) const {
    MergeSides sides{.collection = collection_id(entry.collection), .key = entry.key, .base = {}, .ours = {}, .theirs = {}};
    database_.decide(transaction_, branch(entry.into), sides, entry.decision);
  }
  void operator()(const log::EndMerge& entry) const { database_.end_merge(transaction_, branch(entry.into)); }

  void operator()(const log::SetRetention& entry) const { database_.set_retention(transaction_, entry.policy); }
  void operator()(const log::SetCommitValidators& entry) const {
    database_.set_commit_validators(transaction_, entry.validators);
  }
  void operator()(const log::Sweep& entry) const {
    const InUse in_use(database_);
    std::vector<CommitNumber> commits;
    for (const Hash& id : entry.commits) commits.push_back(commit(id));
    const Branches::Swept swept =
        database_.branches_.replay_sweep(transaction_, std::move(commits), database_.losing(transaction_, lost_));
    database_.log_sweep(transaction_, swept);
  }
  void operator()(const log::FreeNodes&) const { database_.free_nodes(transaction_, {}); }
  // Databases::replay has done it where it stands alone.
  void operator()(const log::Purge&) const { log::refuse("a purge stands with other entries in one transaction of the log"); }

 private:
  Branch branch(const std::string& name) const { return database_.branch(transaction_, {.name = name}); }
  CommitNumber commit(const Hash& id) const {
    const std::string hex = base::to_hex(versions::view(id));
    const auto found = database_.branches_.graph().find(transaction_, hex);
    if (!found) log::refuse("the log names commit " + hex + ", which isn't here");
    return *found;
  }
  size_t collection(BytesView uuid) const REQUIRES_SHARED(database_.mutex_) {
    for (size_t i = 0; i < database_.in_order_.size(); ++i) {
      if (database_.in_order_[i]->base.uuid_bytes() == uuid) return i;
    }
    log::refuse("the log changes branches of collection " + base::to_hex(uuid) + ", which isn't here");
  }
  storage::CollectionId collection_id(BytesView uuid) const {
    const InUse in_use(database_);
    return database_.in_order_[collection(uuid)]->base.id();
  }

  SharedCollection& collection_of(const storage::BranchChange::Document& document) const REQUIRES_SHARED(database_.mutex_) {
    return *database_.in_order_[database_.collection_at(storage::collection_of(document.ns))];
  }
  RecordId shown(SharedCollection& shared, CommitNumber state, const Bytes& key) const {
    return shared.store.find(transaction_, shared.view_of(transaction_, state), key);
  }
  // `record` is what the branch shows before the change; 0: nothing.
  void report_replaced(const storage::BranchChange::Document& document, SharedCollection& shared, RecordId record) const {
    if (record == 0 || !database_.log_) return;
    const Bytes before = shared.store.content(transaction_, record).value();
    database_.log_->document_replaced(transaction_, shared.base.id(), record, document.stamp, bson::DocumentView(before));
  }

  static void check_unique_keys(const Merge& merge) {
    if (merge.conflicts.empty()) return;
    log::refuse("documents of a merge want the same key of the unique index " + merge.conflicts.front().index);
  }
  void merge(const log::MergeBranch& entry) const;
  void add_document(const storage::BranchChange::Document& document, const Branch& before, MergedElsewhere& merged) const
      REQUIRES_SHARED(database_.mutex_);

  BranchedDatabase& database_;
  Transaction& transaction_;
  const storage::BranchChange& change_;
  const Lost& lost_;
};

// A replay doesn't plan: the documents' entries before the merge's own say what the branch shows from now on.
void BranchedDatabase::Replay::merge(const log::MergeBranch& entry) const {
  const InUse in_use(database_);
  const Branch before = branch(entry.into);
  MergedElsewhere merged{.theirs = commit(entry.from), .has_two_parents = entry.parents == 2};
  for (const log::MergeBranch::Root& root : entry.roots) merged.roots.emplace_back(root.collection, root.root);
  for (const storage::BranchChange::Document& document : change_.documents) add_document(document, before, merged);
  merged.imported = entry.imported;
  for (const log::MergeBranch::Named& one : entry.named) {
    const size_t at = collection(one.collection);
    merged.adoptions[at];
    merged.named[at].push_back({one.key, one.hash});
  }
  const CommitInfo info = entry.made.info();
  const auto commit = database_.branches_.replay_merge(transaction_, entry.into, merged, info, entry.generation);
  const Branch after = branch(entry.into);
  Merge indexed;
  for (SharedCollection* shared : database_.in_order_)
    database_.index_merged(transaction_, *shared, before, after, entry.generation, {}, indexed);
  check_unique_keys(indexed);
  database_.log_merge(transaction_, entry.into, merged.theirs, *commit, info, entry.generation, &merged);
}

// A document that the other side of the merge shows with the same bytes is adopted from there, as it was where the merge was
// decided; any other is written.
void BranchedDatabase::Replay::add_document(const storage::BranchChange::Document& document, const Branch& before,
                                            MergedElsewhere& merged) const {
  const size_t at = database_.collection_at(storage::collection_of(document.ns));
  SharedCollection& shared = *database_.in_order_[at];
  BranchStore::Adoption& adoption = merged.adoptions[at];
  Bytes key = key_of(document);
  const RecordId ours = shown(shared, before.head, key);
  if ((document.op == 'i') == (ours != 0)) {
    log::refuse(ours != 0 ? "the log's merge inserts a document that the branch has already"
                          : "the log's merge changes or removes a document that the branch doesn't have");
  }
  if (ours != 0) adoption.removed.add(ours);
  report_replaced(document, shared, ours);
  if (document.op == 'd') return;
  Bytes after = document_after(document, ours == 0 ? std::nullopt : shared.store.content(transaction_, ours));
  const RecordId theirs = shown(shared, merged.theirs, key);
  if (theirs != 0 && shared.store.content(transaction_, theirs) == after) {
    adoption.adopted.emplace_back(std::move(key), theirs);
  } else {
    adoption.written.emplace_back(std::move(key), std::move(after));
  }
}

void BranchedDatabase::replay(Transaction& transaction, const storage::BranchChange& change, const Lost& lost) {
  const log::BranchChange entry = log::decode_branch_change(change.command);
  const bool takes_documents =
      std::holds_alternative<log::MergeBranch>(entry) || std::holds_alternative<log::AdvanceBranch>(entry);
  if (!takes_documents && !change.documents.empty()) log::refuse("the log has documents before an entry that changes none");
  // It is set before anything is changed: which snapshots show what the change replaces depends on it.
  transaction.set_next_stamp(change.stamp);
  std::visit(Replay(*this, transaction, change, lost), entry);
}

}  // namespace versions
