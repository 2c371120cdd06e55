// This part of BranchedDatabase replays commits of other servers.
#include <algorithm>
#include <unordered_set>

#include "bson/builder.h"
#include "bson/validate.h"
#include "dedup/delta.h"
#include "versions/database/branched_database.h"
#include "versions/database/imported_commit.h"
#include "versions/log/branch_change.h"

namespace versions {

using base::ErrorCode;
using base::OperationError;

namespace {

[[noreturn]] void refuse(const std::string& what) {
  throw OperationError(ErrorCode::failed_to_parse, "the commits don't fit: " + what);
}

}  // namespace

namespace {

// The hash of a root's metadata, which end with it; nullopt: they have none, or are no root's.
std::optional<Hash> first_in(const Bytes& metadata) {
  static const size_t bytes = shallow_root_metadata(Hash{}).size();
  if (metadata.size() != bytes) return std::nullopt;
  const Hash first = merkle::read_hash(metadata.data() + bytes - 1 - sizeof(Hash));
  return metadata == shallow_root_metadata(first) ? std::optional(first) : std::nullopt;
}

}  // namespace

bool begins_shallow(const Commit& first) {
  return first.metadata == shallow_root_metadata() || first_in(first.metadata);
}

Bytes shallow_root_metadata(const std::optional<Hash>& first) {
  bson::Builder out;
  out.append("shallowRoot", true);
  if (first) out.append("first", bson::Binary{0, view(*first)});
  return Bytes(out.done().bytes());
}

bool is_shallow_root(const Commit& commit) {
  return !commit.dropped && commit.parents.empty() && begins_shallow(commit);
}

std::optional<Hash> first_of_history(Transaction& transaction, const VersionGraph& graph) {
  const CommitNumber number = graph.first(transaction);
  if (graph.dropped(transaction, number)) return std::nullopt;
  const auto first = graph.commit(transaction, number);
  return begins_shallow(*first) ? first_in(first->metadata) : std::optional(first->id);
}

Bytes document_of(const ImportedRow& row, const std::optional<Bytes>& before) {
  Bytes document;
  if (row.kind == ImportedRow::Kind::update) {
    if (!before)
      throw OperationError(
          ErrorCode::operation_failed,
          "a commit changes a document that isn't here, since it was purged; a pack without deltas has it whole");
    auto made = dedup::apply(*before, row.body, {.output_bytes_max = bson::document_bytes_max});
    if (!made.ok()) refuse("a delta doesn't fit the document that it changes");
    document = std::move(made).value();
  } else {
    document = row.body;
  }
  const auto valid = bson::validate(document);
  // Documents are stored so: `_id` comes first, and is of a type that an `_id` may have.
  if (!valid.ok() || valid.value().empty() || valid.value().begin()->name != "_id") refuse("a row is no document with an _id");
  const bson::Element id = *valid.value().begin();
  if (id.is_array() || id.type() == bson::Type::regex || id.type() == bson::Type::undefined)
    refuse("a row's document has an _id of a type that no _id has");
  if (key_of(document) != row.key) refuse("a row's document has another _id than the row says");
  return document;
}

base::OperationError too_large(const ImportedCommit& commit) {
  return {ErrorCode::exceeded_memory_limit, "commit " + base::to_hex(view(commit.id)) +
                                                " changes too much to be made in one transaction, which takes more memory than " +
                                                std::to_string(commit.bytes_max) +
                                                " bytes (the parameter commitImportMemoryBytes)"};
}

// All of them are in one entry of the log.
constexpr size_t named_bytes_max = bson::document_bytes_max;

// Turns rows into what a merge adopts and writes.
class BranchedDatabase::Import {
 public:
  Import(Transaction& transaction, const Branch& before, const ImportedCommit& commit)
      : transaction_(transaction), before_(before), commit_(commit) {}

  MergedElsewhere read(const BranchedDatabase& database, const std::function<void()>& interrupted)
      REQUIRES_SHARED(database.mutex_) {
    MergedElsewhere merged{.theirs = commit_.second_parent != 0 ? commit_.second_parent : before_.head,
                           .has_two_parents = commit_.second_parent != 0,
                           .adoptions = {},
                           .roots = commit_.roots,
                           .imported = true};
    std::unordered_set<Bytes> keys;
    for (const ImportedRow& row : commit_.rows) bytes_ += row.key.size() + row.body.size() + sizeof(ImportedRow);
    for (const ImportedRow& row : commit_.rows) {
      if (interrupted) interrupted();
      if (!keys.insert(row.collection + row.key).second) refuse("a commit changes a document twice");
      add(database, row, merged);
    }
    return merged;
  }

 private:
  void add(const BranchedDatabase& database, const ImportedRow& row, MergedElsewhere& merged) REQUIRES_SHARED(database.mutex_) {
    using Kind = ImportedRow::Kind;
    const size_t at = database.place_of_uuid(row.collection);
    SharedCollection& shared = *database.in_order_[at];
    BranchStore::Adoption& adoption = merged.adoptions[at];
    const RecordId ours = shared.store.find(transaction_, shared.view_of(transaction_, before_.head), row.key);
    // The document was purged where the commit was made, and inserted again. Here the parent still shows it.
    if (row.kind == Kind::insert && ours != 0 && shared.store.content(transaction_, ours) == row.body) return;
    if (ours != 0) adoption.removed.add(ours);
    if (row.kind == Kind::named || (row.kind == Kind::remove && ours == 0)) {
      std::optional<Hash> hash;
      if (row.kind == Kind::named) {
        if (row.body.size() != sizeof(Hash)) refuse("a purged document has no hash");
        hash = merkle::read_hash(row.body.data());
      }
      named_bytes_ += row.key.size() + sizeof(Hash);
      if (named_bytes_ > named_bytes_max) refuse("a commit names too many documents that are gone");
      merged.named[at].push_back({row.key, hash});
    }
    if (row.kind == Kind::named || row.kind == Kind::remove) return;
    Bytes after = document_of(row, ours == 0 ? std::nullopt : shared.store.content(transaction_, ours));
    if (ours != 0 && shared.store.content(transaction_, ours) == after) refuse("a row changes nothing");
    // A short delta may make a long document.
    bytes_ += after.size();
    if (bytes_ > commit_.bytes_max) throw too_large(commit_);
    // A document that the second parent shows with the same bytes is the same version, as it was where the commit was made.
    const RecordId theirs = commit_.second_parent == 0
                                ? 0
                                : shared.store.find(transaction_, shared.view_of(transaction_, commit_.second_parent), row.key);
    if (theirs != 0 && theirs != ours && shared.store.content(transaction_, theirs) == after)
      adoption.adopted.emplace_back(row.key, theirs);
    else
      adoption.written.emplace_back(row.key, std::move(after));
  }

  Transaction& transaction_;
  const Branch& before_;
  const ImportedCommit& commit_;
  size_t bytes_ = 0;
  size_t named_bytes_ = 0;
};

size_t BranchedDatabase::place_of_uuid(BytesView uuid) const {
  for (size_t i = 0; i < in_order_.size(); ++i) {
    if (in_order_[i]->base.uuid_bytes() == uuid) return i;
  }
  throw OperationError(ErrorCode::namespace_not_found, "a commit has a collection that database '" + name_ + "' lost meanwhile");
}

std::set<Bytes> BranchedDatabase::made_anew(Transaction& transaction, CommitNumber parent, const ImportedCommit& commit) const {
  std::set<Bytes> anew;
  const auto before = branches_.graph().commit(transaction, parent);
  for (const auto& [uuid, root] : commit.roots) {
    if (commit.changed.contains(uuid)) continue;
    const auto same = [&uuid = uuid](const CollectionState& one) { return one.label == uuid; };
    const auto known = std::find_if(before->collections.begin(), before->collections.end(), same);
    const auto named = known == before->collections.end() ? std::nullopt : before->root_of(*known);
    if (!named || *named == root) continue;
    const auto kind = commit.info.trees.find(uuid);
    if (branches_.roots().kind(transaction, *named) != (kind == commit.info.trees.end() ? TreeKind() : kind->second))
      anew.insert(uuid);
  }
  return anew;
}

// Two imports of the same commits may meet: the second one finds what the first has made.
std::shared_ptr<const Commit> BranchedDatabase::imported(Transaction& transaction, const ImportedCommit& commit) const {
  const VersionGraph& graph = branches_.graph();
  const auto there = graph.find(transaction, commit.id);
  return there && !graph.absent(transaction, *there) ? graph.commit(transaction, *there) : nullptr;
}

bool BranchedDatabase::prepare_import(Transaction& transaction, const std::string& branch, const ImportedCommit& commit) {
  const InUse in_use(*this);
  std::set<size_t> changed;
  for (const Bytes& uuid : commit.changed) changed.insert(place_of_uuid(uuid));
  const CommitNumber parent = this->branch(transaction, {.name = branch}).head;
  for (const Bytes& uuid : made_anew(transaction, parent, commit)) changed.insert(place_of_uuid(uuid));
  const auto part = branches_.next_part(transaction, parent, changed, commit.info);
  if (part) make_tree_part(transaction, *part);
  return part.has_value();
}

namespace {

// Says what a commit has otherwise than the commit that it was to become.
std::string difference(const Commit& made, const ImportedCommit& wanted) {
  std::map<Bytes, Hash> roots(wanted.roots.begin(), wanted.roots.end());
  std::string text;
  for (const CollectionState& state : made.collections) {
    const auto root = roots.find(state.label);
    if (root != roots.end() && root->second == state.digest) {
      roots.erase(root);
      continue;
    }
    text += " collection " + base::to_hex(state.label) + (root == roots.end() ? " is too many;" : " has other documents;");
    if (root != roots.end()) roots.erase(root);
  }
  for (const auto& [label, root] : roots) text += " collection " + base::to_hex(label) + " is missing;";
  if (made.time_ms != wanted.info.time_ms) text += " it has another time;";
  const bool in_order = std::equal(made.collections.begin(), made.collections.end(), wanted.roots.begin(), wanted.roots.end(),
                                   [](const CollectionState& one, const auto& root) { return one.label == root.first; });
  if (text.empty() && !in_order) text += " its collections are in another order;";
  return text.empty() ? text : ":" + text.substr(0, text.size() - 1);
}

void check_id(const Commit& made, const ImportedCommit& wanted) {
  if (made.id == wanted.id) return;
  refuse("a commit came to the id " + base::to_hex(view(made.id)) + ", and not to " + base::to_hex(view(wanted.id)) +
         difference(made, wanted));
}

}  // namespace

std::shared_ptr<const Commit> BranchedDatabase::import_commit(Transaction& transaction, const std::string& name,
                                                              const ImportedCommit& commit,
                                                              const std::function<void()>& interrupted) {
  const InUse in_use(*this);
  if (auto there = imported(transaction, commit)) return there;
  const Branch before = branch(transaction, {.name = name});
  const MergedElsewhere merged = Import(transaction, before, commit).read(*this, interrupted);
  branches_.graph().hold(transaction, merged.theirs);
  // Timestamps are taken this late because readers of the log wait for transactions that have one.
  transaction.expect_stamps(commit.rows.size() + 8);
  const Stamp generation = transaction.next_stamp();
  std::shared_ptr<const Commit> made;
  try {
    made = branches_.replay_merge(transaction, name, merged, commit.info, generation);
  } catch (const OperationError& error) {
    if (error.code() != ErrorCode::data_corruption_detected) throw;
    refuse("a commit's documents don't come to the root that it names");
  }
  check_id(*made, commit);
  const Branch after = branch(transaction, {.name = name});
  Merge indexed;
  for (SharedCollection* shared : in_order_) index_merged(transaction, *shared, before, after, generation, interrupted, indexed);
  // History may have doubles in an index that is becoming unique; a branch that goes on to the commit may not get new ones.
  std::erase_if(indexed.conflicts, [&](const Conflict& one) REQUIRES_SHARED(mutex_) {
    const auto index = in_order_[collection_at(one.collection)]->base.index(one.index);
    return index && !index->spec().unique;
  });
  if (!indexed.conflicts.empty()) {
    const Conflict& one = indexed.conflicts.front();
    throw OperationError(ErrorCode::duplicate_key, "commit " + base::to_hex(versions::view(commit.id)) +
                                                       " shows two documents under one key of the unique index " + one.index +
                                                       " of collection " + one.collection);
  }
  log_documents(transaction, name, merged.adoptions);
  log_merge(transaction, name, merged.theirs, *made, commit.info, generation, &merged);
  return made;
}

std::shared_ptr<const Commit> BranchedDatabase::commit_imported(Transaction& transaction, const std::string& branch,
                                                                const ImportedCommit& commit) {
  const InUse in_use(*this);
  if (auto there = imported(transaction, commit)) return there;
  auto made = this->commit(transaction, branch, commit.info, std::set<size_t>(), std::nullopt);
  if (!made) refuse("a commit changes nothing");
  check_id(*made, commit);
  return made;
}

BranchedDatabase::Merge BranchedDatabase::advance(Transaction& transaction, const std::string& name, CommitNumber to,
                                                  const std::function<void()>& interrupted) {
  const InUse in_use(*this);
  const Branch before = branch(transaction, {.name = name});
  check_no_merge(transaction, before);
  Merge merge;
  branches_.advance(transaction, name, to);
  index_advanced(transaction, before, interrupted, merge);
  if (!merge.conflicts.empty()) return merge;
  log_difference(transaction, before, to);
  log_advance(transaction, name, to);
  merge.advanced = true;
  return merge;
}

void BranchedDatabase::put_tag(Transaction& transaction, const std::string& name, CommitNumber of) {
  check_branch_name(name);
  const auto there = branches_.graph().tag(transaction, name);
  if (there == of) return;
  if (there) drop_tag(transaction, name);
  create_tag(transaction, name, of);
}

}  // namespace versions
