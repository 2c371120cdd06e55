#include "server/write/commit_importer.h"

#include <algorithm>

#include "base/hex.h"
#include "base/log.h"
#include "bson/validate.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/query/series/series_options.h"
#include "server/query/views.h"
#include "server/write/arrivals.h"
#include "server/write/batch.h"
#include "server/write/document_writer.h"
#include "server/write/import_limits.h"
#include "server/write/namespaces.h"
#include "server/write/replacement.h"
#include "storage/collections/clustered.h"
#include "storage/engine/names.h"
#include "storage/indexes/index_options.h"
#include "storage/store.h"
#include "versions/database/refs.h"
#include "versions/database/selection.h"

namespace server::write {

using base::Bytes;
using base::ErrorCode;
using base::OperationError;
using versions::CommitNumber;
using versions::ImportedRow;
namespace pack = versions::pack;

namespace {

// Rows of a commit that are held in memory, and made in one transaction.
constexpr size_t rows_held = 5'000, bytes_held = 16 << 20;
// A larger commit with one parent is written this many changes at a time.
constexpr size_t rows_written = 500, bytes_written = 2 << 20;

constexpr int branch_left_behind = 7200403;

std::string hex(const versions::Hash& id) {
  return base::to_hex(versions::view(id));
}

[[noreturn]] void refuse(const std::string& what) {
  throw OperationError(ErrorCode::failed_to_parse, "the commits don't fit: " + what);
}

void check_made_from(const bson::Element& field) {
  if (!field.is_object()) refuse("a commit is made from another one that it doesn't name");
  const bson::DocumentView from = field.as_document();
  const bson::Element commit = from.find("commit");
  if (!commit.is_string() || commit.as_string().size() != 2 * sizeof(versions::Hash) || !base::from_hex(commit.as_string()))
    refuse("a commit is made from another one that it doesn't name");
  versions::Selection selection;
  try {
    selection = versions::read_selection(from);
  } catch (const OperationError& error) {
    refuse(std::string("a commit is made from a part of another one that isn't said: ") + error.what());
  }
  // One selection has one form.
  bson::Builder out;
  out.append("commit", commit.as_string());
  selection.append_to(out);
  if (selection.empty() || out.done().bytes() != from.bytes())
    refuse("a commit is made from a part of another one that isn't said in its normal form");
}

// Checks what is read of a commit later, by `log` for example.
void check_metadata(const Bytes& metadata) {
  const auto valid = bson::validate(metadata);
  if (!valid.ok()) refuse("a commit's metadata is no document");
  for (const bson::Element& field : valid.value()) {
    if (field.name == versions::made_from) {
      check_made_from(field);
      continue;
    }
    if ((field.name != "message" && field.name != "author") || !field.is_string())
      refuse("a commit's metadata is no message and author");
  }
}

// Branches have collections of users, views, functions and buckets, and nothing that the server keeps for itself.
void check_name(const std::string& ns) {
  const std::string_view name = storage::collection_of(ns);
  if (query::is_buckets(ns) || name == query::views_collection || name == "system.js") return;
  if (name.starts_with("system.")) refuse("a collection can't have the name " + std::string(name));
  check_creatable(ns);
}

// Throws for a collection that no branch can have, or that is something else than its name says.
storage::CollectionOptions options_of(const pack::Collection& one) {
  storage::CollectionOptions options;
  options.document = one.options;
  const bson::DocumentView given = options.document;
  for (const char* name : {"capped", "viewOn", "pipeline"}) {
    if (given.has(name)) refuse("collection " + one.name + " has the option " + name + ", with which no branch has it");
  }
  if (given.has("timeseries") != query::is_buckets("db." + one.name))
    refuse("collection " + one.name + " has the name or the options of buckets, and not both");
  storage::read_option_document(options);
  // Collections have every field of their collation, as the indexes that inherit it.
  const bson::Element collation = given["collation"];
  if (collation.exists() && (!options.collator || options.collator->specification().bytes() != collation.bytes()))
    refuse("collection " + one.name + " has a collation that isn't in its normal form");
  return options;
}

// Old commits may show two documents under one key of such an index, which restricts the branches alone.
bool is_exclusive(const storage::IndexSpec& spec) {
  return spec.unique || storage::prepares_unique(spec);
}

bool has_index(const storage::Collection& collection) {
  const auto indexes = collection.indexes();
  return std::any_of(indexes.begin(), indexes.end(), [](const auto& one) { return !one->is_id(); });
}

bool has_exclusive_index(const storage::Collection& collection) {
  const auto indexes = collection.indexes();
  return std::any_of(indexes.begin(), indexes.end(), [](const auto& one) { return !one->is_id() && is_exclusive(one->spec()); });
}

}  // namespace

struct CommitImporter::Incoming {
  pack::Commit commit;
  bool known = false;  // it is here already
  versions::ImportedCommit made = {};
  size_t bytes = 0;
  bool written = false;  // rows of it were written to the branch
  bool whole = false;    // all of it is made in one transaction, however large
  bool begins = false;   // the database begins with it
  // Views that have a row. A second row would be a delta of what the first one made, which nobody has checked.
  std::set<Bytes> views = {};
  std::map<Bytes, int64_t> documents = {};  // of a commit with which the database begins: how many came, by UUID
};

CommitImporter::CommitImporter(OperationContext& op, std::string database, CheckView check_view, Shallow shallow)
    : op_(op), name_(std::move(database)), check_view_(std::move(check_view)), shallow_(shallow) {
  if (name_ == "admin" || name_ == "config" || name_ == "local")
    throw OperationError(ErrorCode::illegal_operation, "database '" + name_ + "' can't have branches");
  storage::check_database_name(name_);
  if (auto there = op.services().databases->find(name_)) work_in(std::move(there));
}

void CommitImporter::work_in(std::shared_ptr<versions::BranchedDatabase> database) {
  unnamed_ = database->keep_unnamed(op_.interrupted());
  database_ = std::move(database);
}

CommitImporter::~CommitImporter() {
  drop_branch();
}

void CommitImporter::drop_branch() noexcept {
  if (branch_.empty()) return;
  try {
    op_.services().databases->drop_branch(*database_, branch_);
  } catch (const std::exception& error) {
    base::log(base::Severity::warning, base::LogComponent::command, branch_left_behind,
              "An unfinished branch could not be dropped; the next start drops it",
              base::Attributes().add("db", name_).add("branch", branch_).add("error", error.what()));
  }
  branch_.clear();
}

std::optional<CommitNumber> CommitImporter::find(const versions::Hash& id) const {
  if (!database_) return std::nullopt;
  storage::Transaction transaction(store_of(op_), storage::Transaction::Mode::read);
  const auto& graph = database_->branches().graph();
  const auto number = graph.find(transaction, id);
  return number && !graph.absent(transaction, *number) ? number : std::nullopt;
}

void CommitImporter::check_base(const pack::Header& header) {
  if (database_ && header.first) {
    storage::Transaction transaction(store_of(op_), storage::Transaction::Mode::read);
    const auto known = versions::first_of_history(transaction, database_->branches().graph());
    if (known) check_same_history(*known, *header.first);
  }
  for (const versions::Hash& id : header.stands_on) {
    if (find(id)) continue;
    throw OperationError(ErrorCode::illegal_operation,
                         "the commits stand on commit " + hex(id) + ", which database '" + name_ + "' doesn't have");
  }
  for (const versions::Hash& id : header.excluded) {
    if (shallow_ == Shallow::allowed || find(id)) continue;
    throw OperationError(ErrorCode::illegal_operation, "the commits come from a shallow history, which ends before commit " +
                                                           hex(id) + ", and database '" + name_ +
                                                           "' doesn't have that; its own history would become shallow");
  }
}

void CommitImporter::import(pack::PackReader& reader) {
  const pack::Header& header = reader.header();
  check_base(header);
  if (renew_arrival(op_, name_)) receives_first_ = op_.services().databases->receive_first(name_);
  for (;;) {
    op_.check_interrupt();
    auto item = reader.next();
    if (auto* const row = std::get_if<pack::Row>(&item)) {
      add(header, std::move(*row));
      continue;
    }
    end_commit(header);
    auto* const commit = std::get_if<pack::Commit>(&item);
    if (!commit) break;
    begin_commit(header, std::move(*commit));
  }
}

void CommitImporter::begin_commit(const pack::Header& header, pack::Commit commit) {
  if (commit.parents.size() > 2) refuse("a commit has more than two parents");
  check_metadata(commit.metadata);
  incoming_ = std::make_unique<Incoming>(Incoming{.commit = std::move(commit)});
  const pack::Commit& one = incoming_->commit;
  incoming_->known = find(one.id).has_value();
  if (incoming_->known) return;
  check_selected(one);
  const bool grafted = is_grafted(one);
  if (!grafted) {
    if (one.parents.empty()) return begin_first(header);
  } else if (!database_) {
    begin_root(header);
  }
  versions::ImportedCommit& made = incoming_->made;
  made.id = one.id;
  made.bytes_max = static_cast<size_t>(import_bytes_max(op_));
  made.info = {.time_ms = one.time_ms, .metadata = one.metadata};
  for (const pack::Root& root : one.roots) {
    made.roots.emplace_back(root.uuid, root.root);
    if (!root.tree.view().empty()) made.info.trees.emplace(root.uuid, versions::read_tree_kind(root.tree));
  }
  if (grafted) {
    made.info.graft.emplace(versions::Graft{.parents = one.parents, .collections = {}, .says_nothing = one.parents.empty()});
    for (const pack::Root& root : one.roots) {
      made.info.graft->collections.push_back(root.uuid);
      if (one.parents.empty() && root.root != versions::Hash{}) refuse("a first commit names documents");
    }
  } else if (one.parents.size() == 2) {
    made.second_parent = find(one.parents[1]).value();
  }
  const bool against_nothing = one.against ? *one.against == versions::Hash{} : one.parents.empty();
  if (against_nothing)
    stand_at_nothing();
  else
    stand_at(find(one.against ? *one.against : one.parents[0]).value());
  make_collections(header);
}

// Nobody can fetch a part of a database that has such commits.
void CommitImporter::check_selected(const pack::Commit& commit) {
  const auto selection = versions::selection_of(commit.metadata);
  if (!selection || !database_ || selection == selected_) return;
  storage::Transaction transaction(store_of(op_), storage::Transaction::Mode::read);
  const auto& graph = database_->branches().graph();
  const auto is_same = [&](CommitNumber number) {
    return versions::selection_of(graph.commit(transaction, number)->metadata) == selection;
  };
  for (const versions::Hash& id : commit.parents) {
    const auto parent = graph.find(transaction, id);
    if (parent && is_same(*parent)) return;
  }
  bool has_others = false;
  for (const auto& [number, node] : graph.graph(transaction)) {
    op_.check_interrupt();
    if (is_same(number)) {
      selected_ = selection;
      return;
    }
    const auto other = graph.commit(transaction, number);
    has_others |= !other->absent && !versions::is_shallow_root(*other);
  }
  if (!has_others) return;
  throw OperationError(ErrorCode::illegal_operation,
                       "commit " + hex(commit.id) + " shows a part of another one, and database '" + name_ +
                           "' doesn't have the history of that part: it needs a database of its own");
}

// A database whose history is shallow begins with another commit than with its first one.
bool CommitImporter::is_grafted(const pack::Commit& commit) const {
  if (!commit.parents.empty()) {
    return commit.against ||
           std::any_of(commit.parents.begin(), commit.parents.end(), [&](const versions::Hash& id) { return !find(id); });
  }
  if (!database_) return commit.roots.empty();
  storage::Transaction transaction(store_of(op_), storage::Transaction::Mode::read);
  const auto& graph = database_->branches().graph();
  const auto first = graph.commit(transaction, graph.first(transaction));
  if (!versions::begins_shallow(*first)) return false;
  // The first commit of the history that is here in part, and no other one.
  if (const auto known = versions::first_of_history(transaction, graph)) check_same_history(*known, commit.id);
  return true;
}

void CommitImporter::check_same_history(const versions::Hash& ours, const versions::Hash& theirs) const {
  if (ours == theirs) return;
  throw OperationError(ErrorCode::illegal_operation,
                       "database '" + name_ + "' has another history than the commits: it begins with " +
                           hex(ours).substr(0, 16) + ", and theirs with " + hex(theirs).substr(0, 16));
}

void CommitImporter::add(const pack::Header& header, pack::Row row) {
  Incoming& in = *incoming_;
  if (in.known) return;
  const Bytes& uuid = header.collections[row.collection].uuid;
  const bool is_view = header.collections[row.collection].name == query::views_collection;
  if (is_view && !in.views.insert(row.key).second) refuse("a commit changes a document twice");
  in.bytes += row.key.size() + row.body.size() + sizeof(ImportedRow);
  in.made.changed.insert(uuid);
  in.made.rows.push_back({static_cast<ImportedRow::Kind>(row.kind), uuid, std::move(row.key), std::move(row.body)});
  if (is_view) check_view(in.made.rows.back());
  const bool many = in.made.rows.size() >= rows_written || in.bytes >= bytes_written;
  if (in.begins) {
    if (many) insert_first();
  } else if (in.written) {
    if (many) write_rows(header);
  } else if (in.whole) {
    if (in.bytes > in.made.bytes_max) throw versions::too_large(in.made);
  } else if (in.made.rows.size() >= rows_held || in.bytes >= bytes_held) {
    in.written = may_be_written_before(header);
    in.whole = !in.written;
    if (in.written) write_rows(header);
  }
}

void CommitImporter::check_view(const ImportedRow& row) {
  if (row.kind == ImportedRow::Kind::remove || row.kind == ImportedRow::Kind::named) return;
  std::optional<Bytes> before;
  if (row.kind == ImportedRow::Kind::update && !incoming_->begins) {
    const auto views = store_of(op_).catalog().open(name_ + "." + std::string(query::views_collection));
    if (const auto shared = views ? database_->versions_of(views->id()) : nullptr) {
      storage::Transaction transaction(store_of(op_), storage::Transaction::Mode::read);
      before = shared->store.get(transaction, shared->view_of(transaction, stands_at_), row.key);
    }
  }
  check_view_(bson::DocumentView(versions::document_of(row, before)));
}

void CommitImporter::end_commit(const pack::Header& header) {
  if (!incoming_) return;
  if (!incoming_->known) make(header);
  incoming_.reset();
  if (receives_first_) renew_arrival(op_, name_);
}

void CommitImporter::make(const pack::Header& header) {
  Incoming& in = *incoming_;
  if (in.begins) {
    insert_first();
    end_first();
    ++made_;
    return;
  }
  if (in.written) write_rows(header);
  const auto prepare_or_make = [&] {
    const auto indexes = database_->keep_indexes(op_.interrupted());
    return in_transaction(op_, [&](storage::Transaction& transaction) -> std::shared_ptr<const versions::Commit> {
      if (database_->prepare_import(transaction, branch_, in.made)) return nullptr;
      if (!in.written) return database_->import_commit(transaction, branch_, in.made, op_.interrupted());
      have_empty_ones(transaction);
      return database_->commit_imported(transaction, branch_, in.made);
    });
  };
  std::shared_ptr<const versions::Commit> made;
  while (!made) {
    op_.check_interrupt();
    try {
      made = prepare_or_make();
    } catch (const OperationError& error) {
      // Short differences make long documents.
      if (error.code() != ErrorCode::exceeded_memory_limit || in.written || !may_be_written_before(header)) throw;
      in.written = true;
      write_rows(header);
    }
  }
  if (ends_at(made->number)) {
    stands_at_ = made->number;
    ++made_;
  } else {
    drop_branch();  // somebody else has made the commit meanwhile, on a branch of their own
  }
}

bool CommitImporter::ends_at(CommitNumber commit) const {
  storage::Transaction transaction(store_of(op_), storage::Transaction::Mode::read);
  return database_->branch(transaction, {.name = branch_}).head == commit;
}

// Rows that are written to the branch make only the collections that they belong to. A graft says which collections it has.
void CommitImporter::have_empty_ones(storage::Transaction& transaction) {
  if (incoming_->made.info.graft) return;
  const versions::Branch branch = database_->branch(transaction, {.name = branch_});
  std::set<Bytes> uuids;
  for (const pack::Root& root : incoming_->commit.roots) uuids.insert(root.uuid);
  for (const auto& one : store_of(op_).catalog().collections(name_)) {
    if (uuids.erase(one->uuid_bytes()) > 0) database_->make_collection(transaction, branch, one->id());
  }
  if (!uuids.empty()) refuse("a collection of the commit was dropped meanwhile");
}

// --- a database's first commit

void CommitImporter::begin_first(const pack::Header& header) {
  if (database_)
    throw OperationError(ErrorCode::illegal_operation, "database '" + name_ + "' has another history than the commits");
  incoming_->begins = true;
  const auto named = [&](const Bytes& uuid) -> const pack::Collection& {
    return *std::find_if(header.collections.begin(), header.collections.end(),
                         [&](const pack::Collection& one) { return one.uuid == uuid; });
  };
  std::vector<const pack::Collection*> collections;
  for (const pack::Root& root : incoming_->commit.roots) {
    if (root.root != versions::Hash{}) refuse("a first commit names documents");
    collections.push_back(&named(root.uuid));
  }
  const auto by_name = [](const auto* a, const auto* b) { return a->name < b->name; };
  if (collections.empty() || !std::is_sorted(collections.begin(), collections.end(), by_name))
    refuse("a first commit doesn't have its collections in the order of their names");
  check_collections_are(collections);
  receives_first_ = op_.services().databases->receive_first(name_);
  begin_arrival(op_, name_);
  for (const pack::Collection* one : collections) make_collection(*one);
}

void CommitImporter::check_collections_are(const std::vector<const pack::Collection*>& collections) const {
  for (const auto& there : store_of(op_).catalog().collections(name_)) {
    const auto same = [&](const pack::Collection* one) { return one->uuid == there->uuid_bytes(); };
    if (there->options().capped || std::any_of(collections.begin(), collections.end(), same)) continue;
    throw OperationError(ErrorCode::illegal_operation, "database '" + name_ + "' has collection " + there->ns() +
                                                           ", which isn't of the history that the commits begin");
  }
}

// --- a shallow history

// The database begins with its collections, which are empty.
void CommitImporter::begin_root(const pack::Header& header) {
  std::vector<const pack::Collection*> collections;
  for (const pack::Collection& one : header.collections) collections.push_back(&one);
  if (collections.empty())
    throw OperationError(ErrorCode::illegal_operation, "no commit of the pack has a collection: there is no database to begin");
  check_collections_are(collections);
  for (const pack::Collection* one : collections) make_collection(*one);
  for (const auto& there : store_of(op_).catalog().collections(name_)) {
    if (there->options().capped || there->stored_records() == 0) continue;
    throw OperationError(ErrorCode::illegal_operation,
                         there->ns() + " has documents, and none of the history that the commits begin");
  }
  const auto begun = op_.services().databases->find_or_begin(name_, {.metadata = versions::shallow_root_metadata(header.first)},
                                                             0, {.interrupted = op_.interrupted()});
  op_.last_write = std::max(op_.last_write, begun.logged);
  work_in(begun.database);
}

void CommitImporter::stand_at_nothing() {
  CommitNumber parent = 0;
  versions::ImportedCommit nothing;
  {
    storage::Transaction transaction(store_of(op_), storage::Transaction::Mode::read);
    const auto& graph = database_->branches().graph();
    for (const auto& [number, node] : graph.graph(transaction)) {
      if (node.dropped) continue;
      parent = number;
      if (node.parents.empty() && versions::is_shallow_root(*graph.commit(transaction, number))) break;
      parent = 0;
    }
    if (parent == 0) {
      pack::Commit statement{.metadata = versions::shallow_root_metadata()};
      while (graph.find(transaction, nothing.id = pack::id_of(statement))) ++statement.time_ms;
      nothing.info = {.time_ms = statement.time_ms, .metadata = statement.metadata};
      nothing.info.graft.emplace();
      parent = database_->branch(transaction, {.name = std::string(versions::BranchedDatabase::main)}).head;
    }
  }
  stand_at(parent);
  if (!nothing.info.graft) return;
  const auto indexes = database_->keep_indexes(op_.interrupted());
  const auto made = in_transaction(op_, [&](storage::Transaction& transaction) {
    return database_->import_commit(transaction, branch_, nothing, op_.interrupted());
  });
  if (!ends_at(made->number)) {
    drop_branch();
    return stand_at(made->number);
  }
  stands_at_ = made->number;
}

// A document may be there from an attempt before.
void CommitImporter::insert_first() {
  Incoming& in = *incoming_;
  std::map<Bytes, std::vector<bson::Document>> documents;
  for (const ImportedRow& row : in.made.rows) {
    if (row.kind != ImportedRow::Kind::insert) refuse("a first commit changes a document");
    ++in.documents[row.collection];
    documents[row.collection].emplace_back(versions::document_of(row, std::nullopt));
  }
  in.made.rows.clear();
  in.bytes = 0;
  for (const auto& there : store_of(op_).catalog().collections(name_)) {
    const auto found = documents.find(there->uuid_bytes());
    if (found == documents.end()) continue;
    const Target target = Target::open(op_, there->ns());
    if (!target) continue;
    DocumentWriter writer(op_, target, Validate::never);
    const auto& some = found->second;
    const auto failure = run_batch(op_, some.size(), [&](storage::Transaction& transaction, size_t i) {
      const auto before = target->find_id(transaction, some[i].view().find("_id"));
      if (!before) {
        writer.insert(transaction, some[i]);
        return;
      }
      const auto same = target->find(transaction, *before, nullptr);
      if (!same || same->bytes() != some[i].bytes()) {
        throw OperationError(ErrorCode::illegal_operation,
                             there->ns() + " has another document than the commits with an _id that they have");
      }
    });
    if (failure) std::rethrow_exception(failure->error);
    documents.erase(found);
  }
  if (!documents.empty())
    throw OperationError(ErrorCode::namespace_not_found, "a collection of database '" + name_ + "' was dropped meanwhile");
}

// A first commit has all that its collections hold, and its id says nothing of it: another document would come along, or one
// would be missing, and no child of the commit would come to its roots.
void CommitImporter::check_first() const {
  for (const auto& there : store_of(op_).catalog().collections(name_)) {
    if (there->options().capped) continue;
    const auto same = [&](const pack::Root& root) { return root.uuid == there->uuid_bytes(); };
    if (std::none_of(incoming_->commit.roots.begin(), incoming_->commit.roots.end(), same)) {
      throw OperationError(ErrorCode::illegal_operation,
                           there->ns() + " is a collection that the first commit of the history that comes doesn't have");
    }
    const auto come = incoming_->documents.find(there->uuid_bytes());
    const int64_t expected = come == incoming_->documents.end() ? 0 : come->second;
    if (there->stored_records() == expected) continue;
    // The number that is kept may be wrong after damage.
    int64_t counted = 0;
    storage::Transaction transaction(store_of(op_), storage::Transaction::Mode::read);
    for (const auto scan = there->scan(transaction, storage::Direction::forward); scan->next(); ++counted) op_.check_interrupt();
    if (counted == expected) continue;
    throw OperationError(ErrorCode::illegal_operation, there->ns() + " has " + std::to_string(counted) + " documents, and " +
                                                           std::to_string(expected) +
                                                           " by the first commit of the history that comes");
  }
}

void CommitImporter::end_first() {
  const pack::Commit& commit = incoming_->commit;
  check_first();
  const auto begun = op_.services().databases->find_or_begin(name_, {.time_ms = commit.time_ms, .metadata = commit.metadata}, 0,
                                                             {.interrupted = op_.interrupted()});
  op_.last_write = std::max(op_.last_write, begun.logged);
  work_in(begun.database);
  if (!find(commit.id)) {
    throw OperationError(
        ErrorCode::illegal_operation,
        "database '" + name_ + "' got another first commit than that of the pack: somebody changed its collections");
  }
}

// --- the others

void CommitImporter::stand_at(CommitNumber parent) {
  if (!branch_.empty() && stands_at_ == parent) return;
  drop_branch();
  const auto indexes = database_->keep_indexes(op_.interrupted());
  const std::string name = unfinished_name();
  in_transaction(op_, [&](storage::Transaction& transaction) {
    const auto& graph = database_->branches().graph();
    database_->create(transaction, name, {.name = hex(graph.commit(transaction, parent)->id)});
  });
  branch_ = name;
  stands_at_ = parent;
}

void CommitImporter::make_collections(const pack::Header& header) {
  std::map<base::BytesView, const pack::Collection*> by_uuid;
  for (const pack::Collection& one : header.collections) by_uuid.emplace(one.uuid, &one);
  for (const pack::Root& root : incoming_->commit.roots) make_collection(*by_uuid.at(root.uuid));
}

void CommitImporter::make_collection(const pack::Collection& one) {
  storage::Catalog& catalog = store_of(op_).catalog();
  const std::string ns = name_ + "." + one.name;
  for (const auto& there : catalog.collections(name_)) {
    if (there->uuid_bytes() != one.uuid) continue;
    if (there->ns() == ns) return;
    throw OperationError(ErrorCode::namespace_exists,
                         "the commits' collection " + one.name + " has the name " + there->ns() + " here");
  }
  if (catalog.open(ns)) {
    throw OperationError(ErrorCode::namespace_exists,
                         ns + " is another collection than that of the commits, which has another UUID");
  }
  check_name(ns);
  const auto collection = catalog.create(ns, options_of(one), one.uuid, {.interrupted = op_.interrupted()});
  std::vector<storage::IndexSpec> specs;
  for (const bson::Document& index : one.indexes) {
    storage::IndexSpec spec = storage::parse_index_spec(index);
    if (!is_exclusive(spec)) specs.push_back(std::move(spec));
  }
  if (!specs.empty()) catalog.create_indexes(collection, specs, {.interrupted = op_.interrupted()});
}

// A collection that a ref shows has had its indexes before, and is left to whoever changed them since. Of another one they may be
// missing altogether, if an import was interrupted.
void CommitImporter::make_indexes(const pack::Header& header) {
  drop_branch();
  storage::Catalog& catalog = store_of(op_).catalog();
  for (const pack::Collection& one : header.collections) {
    const auto collection = catalog.open(name_ + "." + one.name);
    if (!collection || collection->uuid_bytes() != one.uuid) continue;
    const bool has_exclusive = has_exclusive_index(*collection), has_any = has_index(*collection);
    std::vector<storage::IndexSpec> specs;
    for (const bson::Document& index : one.indexes) {
      storage::IndexSpec spec = storage::parse_index_spec(index);
      if (!(is_exclusive(spec) ? has_exclusive : has_any)) specs.push_back(std::move(spec));
    }
    if (specs.empty()) continue;
    if (!shown_) shown_ = shown_by_refs();
    if (!shown_->contains(one.uuid)) catalog.create_indexes(collection, specs, {.interrupted = op_.interrupted()});
  }
}

// Documents may go from these whenever the TTL monitor passes.
bool CommitImporter::has_documents_that_expire() const {
  for (const auto& there : store_of(op_).catalog().collections(name_)) {
    if (there->options().document.view().has(storage::expire_after_seconds_option)) return true;
    const auto indexes = there->indexes();
    if (std::any_of(indexes.begin(), indexes.end(), [](const auto& one) { return one->spec().expire_after_seconds.has_value(); }))
      return true;
  }
  return false;
}

bool CommitImporter::has_begun_what_expires() const {
  if (!is_arrival(op_.services(), name_) || !has_just_begun() || !has_documents_that_expire()) return false;
  storage::Transaction transaction(store_of(op_), storage::Transaction::Mode::read);
  const versions::Branch main = database_->branch(transaction, {.name = std::string(versions::BranchedDatabase::main)});
  return !database_->has_pending(transaction, main.id);
}

bool CommitImporter::has_just_begun() const {
  if (!database_) return false;
  storage::Transaction transaction(store_of(op_), storage::Transaction::Mode::read);
  return named_by_refs(transaction).empty();
}

std::set<Bytes> CommitImporter::shown_by_refs() const {
  std::set<Bytes> shown;
  if (!database_) return shown;
  storage::Transaction transaction(store_of(op_), storage::Transaction::Mode::read);
  for (const CommitNumber number : named_by_refs(transaction)) {
    op_.check_interrupt();
    for (const versions::CollectionState& one : database_->branches().graph().commit(transaction, number)->collections)
      shown.insert(one.label);
  }
  return shown;
}

// The branch main of a database that has just begun isn't one of them: it shows the first commit, or nothing.
std::vector<CommitNumber> CommitImporter::named_by_refs(storage::Transaction& transaction) const {
  const auto& graph = database_->branches().graph();
  std::vector<CommitNumber> named;
  for (const versions::Branch& branch : graph.branches(transaction)) {
    const bool begins =
        branch.name == versions::BranchedDatabase::main && graph.commit(transaction, branch.head)->parents.empty();
    if (!begins && !branch.name.starts_with(unfinished_prefix)) named.push_back(branch.head);
  }
  for (const auto& [name, number] : graph.tags(transaction)) named.push_back(number);
  return named;
}

// A merge's documents are compared with its second parent's, a unique index with all of them at once, and what was purged is
// named by no document. A commit that drops a collection changes which ones there are, and one that makes a tree anew writes
// nothing that would say so.
bool CommitImporter::may_be_written_before(const pack::Header& header) const {
  const pack::Commit& commit = incoming_->commit;
  const bool grafted = incoming_->made.info.graft.has_value();  // all that the commit has is in what it says of itself
  if ((commit.parents.size() != 1 && !grafted) || commit.purged) return false;
  storage::Transaction transaction(store_of(op_), storage::Transaction::Mode::read);
  if (!grafted && !database_->made_anew(transaction, stands_at_, incoming_->made).empty()) return false;
  const auto parent = database_->branches().graph().commit(transaction, stands_at_);
  for (const versions::CollectionState& state : parent->collections) {
    const auto same = [&](const pack::Root& root) { return root.uuid == state.label; };
    if (!grafted && std::none_of(commit.roots.begin(), commit.roots.end(), same)) return false;
  }
  for (const pack::Collection& one : header.collections) {
    const auto collection = store_of(op_).catalog().open(name_ + "." + one.name);
    if (!collection) continue;
    // A collation may take the _ids of two documents for the same.
    if (has_exclusive_index(*collection) || collection->options().collator) return false;
    const auto shared = database_->versions_of(collection->id());
    if (!shared || !shared->store.purged_records(transaction).empty()) return false;
  }
  return true;
}

void CommitImporter::write_rows(const pack::Header& header) {
  Incoming& in = *incoming_;
  std::map<Bytes, std::vector<const ImportedRow*>> by_collection;
  for (const ImportedRow& row : in.made.rows) by_collection[row.collection].push_back(&row);
  const std::string db = name_ + "@" + versions::escaped(branch_);
  for (const pack::Collection& one : header.collections) {
    const auto found = by_collection.find(one.uuid);
    if (found == by_collection.end()) continue;
    const Target target = Target::open_or_create(op_, db + "." + one.name);
    if (target->uuid_bytes() != one.uuid) refuse("collection " + one.name + " became another one meanwhile");
    const auto shared = database_->versions_of(target->id());
    if (!shared) refuse("collection " + one.name + " was dropped meanwhile");
    DocumentWriter writer(op_, target, Validate::never);
    const auto write = [&](storage::Transaction& transaction, size_t i) {
      const ImportedRow& row = *found->second[i];
      const versions::Branch branch = database_->branch(transaction, {.name = branch_});
      const auto record = shared->store.find(transaction, shared->view_of(transaction, branch), row.key);
      std::optional<Bytes> before;
      if (record != 0) before = shared->store.content(transaction, record);
      if (row.kind == ImportedRow::Kind::remove) {
        if (!before) refuse("a commit removes a document that its parent doesn't show");
        writer.remove(transaction, record, bson::DocumentView(*before));
        return;
      }
      if (before.has_value() == (row.kind == ImportedRow::Kind::insert))
        refuse("a commit changes a document that isn't there, or inserts one that is");
      const bson::Document after(versions::document_of(row, before));
      if (before)
        writer.update(transaction, record, bson::DocumentView(*before), after);
      else
        writer.insert(transaction, after);
    };
    const auto failure = run_batch(op_, found->second.size(), write);
    if (failure) std::rethrow_exception(failure->error);
  }
  in.made.rows.clear();
  in.bytes = 0;
}

}  // namespace server::write
