// validate reads a whole collection, compares records, checksums and indexes, and repairs what it can.
#include "storage/upkeep/validate.h"
#include "base/error.h"
#include "base/guarded.h"
#include "base/interruptible_mutex.h"
#include "base/log.h"
#include "bson/json.h"
#include "replication/logged_documents.h"
#include "replication/logged_entries.h"
#include "replication/repair_mark.h"
#include "server/core/arguments.h"
#include "server/core/command.h"
#include "server/core/operation.h"
#include "server/core/scale.h"
#include "server/core/services.h"
#include "server/query/reader.h"
#include "server/query/validator.h"
#include "server/query/views.h"
#include "server/write/target.h"
#include "storage/collections/catalog.h"
#include "storage/engine/names.h"
#include "storage/engine/readable_rows.h"
#include "storage/store.h"
#include "storage/upkeep/repair.h"
#include "versions/database/databases.h"
#include "versions/database/lost_versions.h"
#include "versions/database/shown_by.h"

namespace server {
namespace {

using base::ErrorCode;
using base::OperationError;

void append_list(bson::Builder& reply, std::string_view name, const std::vector<std::string>& lines) {
  auto list = reply.array(name);
  for (const auto& line : lines) list.append(line);
}

// MongoDB shows the values of extra entries, too. A key string doesn't have their types, so it is shown itself.
void append_entries(bson::Builder& reply, std::string_view name,
                    const std::vector<storage::ValidateReport::IndexEntry>& entries) {
  auto list = reply.array(name);
  for (const auto& entry : entries) {
    auto one = list.object();
    one.append("indexName", entry.index).append("recordId", static_cast<int64_t>(entry.record));
    if (!entry.id.empty()) one.append("idKey", entry.id);
    if (entry.values.empty())
      one.append("keyString", bson::Binary{0, entry.key});
    else
      one.append("indexKey", entry.values);
  }
}

constexpr size_t corrupt_records_max = 10'000;
constexpr int non_compliant_document = 5363500;

void append_repair(const storage::RepairReport& repair, bson::Builder& reply) {
  append_count(reply, "numRemovedCorruptRecords", repair.removed_records);
  append_count(reply, "numRemovedExtraIndexEntries", repair.removed_keys);
  append_count(reply, "numInsertedMissingIndexEntries", repair.inserted_keys);
  append_count(reply, "numDocumentsMovedToLostAndFound", repair.moved_documents);
  append_count(reply, "numOutdatedMissingIndexEntry", 0);
  append_count(reply, "numRestoredContents", repair.restored_contents + repair.restored_stubs);
  append_count(reply, "numCorrectedIndexEntries", repair.corrected_types);
  append_count(reply, "numCorrectedChainEntries", repair.corrected_chains);
}

// The documents that can't be read, and who shows them.
struct Damaged {
  std::vector<storage::DamagedDocument> documents;
  size_t current = 0;  // so many have records that can't be read; the others can't be read in snapshots
  std::map<storage::RecordId, versions::ShownBy> shown;
};

Damaged find_damaged(OperationContext& op, const std::shared_ptr<storage::Collection>& collection, bool full,
                     storage::ValidateReport& report) {
  Damaged damaged;
  const base::Interrupted interrupted = op.interrupted();
  if (report.corrupt_records > 0)
    damaged.documents = storage::corrupt_records(write::store_of(op).engine(), *collection, corrupt_records_max, interrupted);
  damaged.current = damaged.documents.size();
  const std::shared_ptr<storage::Collection> home = collection->home();
  const auto stored = std::dynamic_pointer_cast<storage::StoredCollection>(home ? home : collection);
  const Services& services = op.services();
  if (!full || report.valid || !stored || !services.databases || !services.past) return damaged;
  damaged.shown =
      versions::shown_by(*services.databases, *services.past, stored, damaged.documents, corrupt_records_max, interrupted);
  for (size_t i = damaged.current; i < damaged.documents.size(); ++i) {
    const storage::DamagedDocument& document = damaged.documents[i];
    std::string where;
    for (const std::string& name : damaged.shown[document.record].databases) where += (where.empty() ? "" : ", ") + name;
    report.errors.push_back(storage::name_of(document) + " can't be read in " + where + ": " + document.why);
  }
  return damaged;
}

// MongoDB's reply has the records' ids alone.
void append_damaged(const Damaged& damaged, bson::Builder& reply) {
  {
    auto list = reply.array("corruptRecords");
    for (size_t i = 0; i < damaged.current; ++i) list.append(static_cast<int64_t>(damaged.documents[i].record));
  }
  if (damaged.documents.empty()) return;
  auto list = reply.array("damagedDocuments");
  for (const storage::DamagedDocument& document : damaged.documents) {
    auto one = list.object();
    if (!document.id.empty()) one.append("_id", document.id["_id"]);
    one.append("recordId", static_cast<int64_t>(document.record)).append("reason", document.why);
    const auto shown = damaged.shown.find(document.record);
    if (shown == damaged.shown.end()) continue;
    append_list(one, "shownBy", shown->second.databases);
    if (shown->second.commits.empty()) continue;
    append_list(one, "commits", shown->second.commits);
    append_count(one, "moreCommits", static_cast<int64_t>(shown->second.more_commits));
  }
}

void append_report(const storage::Collection& collection, const storage::ValidateReport& report,
                   const storage::RepairReport* repair, const Damaged& damaged, int64_t non_compliant, bson::Builder& reply) {
  reply.append("ns", collection.ns()).append("uuid", bson::Binary{4, collection.uuid_bytes()});
  append_count(reply, "nInvalidDocuments", report.invalid_documents);
  append_count(reply, "nNonCompliantDocuments", non_compliant);
  append_count(reply, "nrecords", report.records);
  append_count(reply, "nIndexes", static_cast<int64_t>(report.indexes.size()));
  {
    auto keys = reply.object("keysPerIndex");
    for (const auto& index : report.indexes) append_count(keys, index.name, index.keys);
  }
  {
    auto details = reply.object("indexDetails");
    for (const auto& index : report.indexes) {
      auto detail = details.object(index.name);
      detail.append("valid", index.valid);
    }
  }
  const bool repaired = repair && repair->repaired();
  reply.append("valid", report.valid).append("repaired", repaired);
  std::vector<std::string> warnings = report.warnings;
  if (repair) warnings.insert(warnings.end(), repair->warnings.begin(), repair->warnings.end());
  append_list(reply, "warnings", warnings);
  append_list(reply, "errors", report.errors);
  append_entries(reply, "extraIndexEntries", report.extra_entries);
  append_entries(reply, "missingIndexEntries", report.missing_entries);
  append_damaged(damaged, reply);
  if (repaired) append_repair(*repair, reply);
  if (!report.valid) {
    reply.append("advice",
                 "The collection is damaged in the places that `errors` names; restore them from a backup or another member.");
  }
}

// Counts the documents that break the collection's validator, and logs their ids.
int64_t count_non_compliant(OperationContext& op, const std::shared_ptr<storage::Collection>& collection) {
  constexpr int64_t logged_max = 100;
  const auto validation = query::read_validation(collection->options().document);
  if (!validation) return 0;
  const auto rules = query::compile_validator(validation->rules, query::parse_context(op, {}, collection->options().collator));
  query::Reader reader(op, collection, collection->ns(), query::Query());
  int64_t found = 0;
  while (reader.next()) {
    const bson::DocumentView document = reader.document();
    if (query::fulfils(op, *rules, document) || ++found > logged_max) continue;
    bson::Builder id;
    id.append_element(document["_id"]);
    base::log(base::Severity::warning, base::LogComponent::storage, non_compliant_document,
              "Document is not compliant with the collection's schema",
              base::Attributes().add("namespace", collection->ns()).add("document", bson::to_shell(id.done())));
  }
  return found;
}

// nullptr: the database has no branches.
std::shared_ptr<versions::BranchedDatabase> branched_database(OperationContext& op, std::string_view ns) {
  const versions::Databases* const databases = op.services().databases;
  return databases ? databases->find(versions::split_name(storage::database_of(ns)).database) : nullptr;
}

// Checks the tables that a database with branches has beside the collection's own.
void check_versions(OperationContext& op, const std::string& ns, const storage::Collection& collection, bool full,
                    storage::ValidateReport& report) {
  storage::Engine& engine = write::store_of(op).engine();
  const auto database = branched_database(op, ns);
  const auto versions = database ? database->version_repair(engine, collection.id(), nullptr) : nullptr;
  if (!versions) return;
  std::vector<std::string> tables{versions->states_table(), versions->pending_table()};
  if (full) tables.insert(tables.end(), {versions->entries_table(), versions->trees_table()});
  for (const std::string& table : tables) {
    if (table.empty()) continue;
    // Verifying the file would keep others from opening the table meanwhile.
    const bool sound = base::guarded([&] {
      storage::ReadableRows rows(engine, storage::Table(table));
      while (rows.next()) op.check_interrupt();
      return rows.holes() == 0;
    });
    if (sound) continue;
    report.valid = false;
    report.errors.push_back("table " + table + ", which belongs to the branches of the database, is damaged");
  }
}

void refuse_both(bool given, std::string_view options) {
  if (!given) return;
  throw OperationError(ErrorCode::invalid_options,
                       "Running the validate command with both " + std::string(options) + " is not supported.");
}

void refuse_on_member(OperationContext& op, bool given, std::string_view option) {
  if (!given || !op.services().replica_set) return;
  throw OperationError(ErrorCode::invalid_options,
                       "Running the validate command with " + std::string(option) + " can only be performed in standalone mode.");
}

class Validate : public Command {
 public:
  std::string_view name() const override { return "validate"; }
  std::string_view help() const override {
    return "Validate contents of a namespace by scanning its data structures for correctness.\nThis is a slow operation.\n"
           "Add {full: true} to check the files too, {repair: true} to repair what is found, from copies where there are any.\n"
           "{ validate: \"collection\", full: <bool>, repair: <bool> }";
  }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {
        "full", "background", "repair", "enforceFastCount", "checkBSONConformance", "metadata", "scandata", "fixMultikey"};
    return names;
  }
  bool takes_collection() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const Arguments arguments(request);
    const bool full = arguments.loose_boolean("full").value_or(false);
    const bool background = arguments.loose_boolean("background").value_or(false);
    const bool repair = arguments.loose_boolean("repair").value_or(false);
    const auto fix_multikey = arguments.loose_boolean("fixMultikey");
    const bool enforce_count = arguments.loose_boolean("enforceFastCount").value_or(false);
    const bool conformance = arguments.loose_boolean("checkBSONConformance").value_or(false);
    refuse_both(repair && background, "{ background: true } and { repair: true }");
    refuse_both(repair && enforce_count, "{ enforceFastCount: true } and { repair: true }");
    refuse_both(repair && conformance, "{ checkBSONConformance: true } and { repair: true }");
    // On a member the repair would take documents away that the others have.
    refuse_on_member(op, repair, "{ repair: true }");
    refuse_on_member(op, fix_multikey.value_or(false), "{ fixMultikey: true }");
    refuse_both(repair && fix_multikey == false, "{ fixMultikey: false } and { repair: true }");
    if (fix_multikey.value_or(false) && !repair) {
      throw OperationError(ErrorCode::command_not_supported, "validate repairs as a whole or not at all: use {repair: true}");
    }
    refuse_both(background && full, "{ background: true } and { full: true }");
    refuse_both(background && enforce_count, "{ background: true } and { enforceFastCount: true }");
    if (arguments.loose_boolean("metadata").value_or(false)) {
      throw OperationError(ErrorCode::command_not_supported, "validate scans always: {metadata: true} is not supported");
    }
    std::string ns = request.ns();
    storage::Catalog& catalog = write::store_of(op).catalog();
    const auto collection = repair ? collection_to_repair(op, catalog, ns) : collection_to_check(op, catalog, ns);
    if (!collection && query::find_view(op, ns))
      throw OperationError(ErrorCode::command_not_supported_on_view, "Cannot validate a view");
    if (!collection) {
      throw OperationError(ErrorCode::namespace_not_found, "Collection '" + ns + "' does not exist to validate.");
    }
    storage::Store& store = write::store_of(op);
    // Each record, each row of a chain and each entry of an index is a step; how many rows the chains have isn't known before.
    Progress progress{
        .what = "Validate: scanning records and indexes Validate: scanning records and indexes", .done = 0, .total = 0};
    const int64_t records = base::guarded([&] { return collection->record_count(); });
    progress.total = std::max<int64_t>(1, records) * (1 + static_cast<int64_t>(collection->indexes().size()));
    const base::Interrupted interrupted = [&op, &progress] {
      constexpr int64_t shown_each = 256;
      op.check_interrupt();
      if (progress.done < progress.total && ++progress.done % shown_each == 0) op.set_progress(progress);
    };
    if (repair) {
      const base::InterruptibleLock alone(repairing_, op.interrupted());
      const auto database = branched_database(op, ns);
      std::optional<replication::LoggedEntries> entries;
      if (op.services().oplog) entries.emplace(store, *op.services().oplog);
      const auto to_repair =
          database ? database->version_repair(store.engine(), collection->id(), entries ? &*entries : nullptr) : nullptr;
      const auto copies = [&entries](const storage::Collection& of, storage::RecordId, storage::Stamp generation) {
        return entries ? entries->copy(of.uuid_bytes(), generation) : std::nullopt;
      };
      std::unique_ptr<storage::DocumentLog> log;
      if (entries && to_repair)
        log = std::make_unique<versions::LostVersions>(store, database, database->versions_of(collection->id()), *entries);
      else if (entries)
        log = std::make_unique<replication::LoggedDocuments>(*entries);
      // No other member has what is in `local`.
      std::optional<replication::RepairMark> mark;
      if (!storage::is_own(ns)) mark.emplace(store);
      const auto report = [&] {
        try {
          return storage::repair_collection(store, collection, full, copies, to_repair.get(), interrupted, log.get());
        } catch (const OperationError& error) {
          // It was dropped meanwhile.
          if (mark && error.code() == ErrorCode::namespace_not_found) mark->take_back();
          throw;
        }
      }();
      if (mark && !report.took_away) mark->take_back();
      return append_report(*collection, report.after, &report, {}, 0, reply);
    }
    auto report = storage::validate_collection(store, collection, full, interrupted);
    if (report.indexes.empty() && !collection->indexes().empty())
      report.warnings.push_back("The documents of " + ns + " were checked, but its indexes were not, because it is read-only.");
    if (enforce_count && report.records_counted != report.records) {
      report.valid = false;
      report.errors.push_back("fast count (" + std::to_string(report.records_counted) + ") does not match number of records (" +
                              std::to_string(report.records) + ") for collection '" + ns + "'");
    }
    check_versions(op, ns, *collection, full, report);
    const Damaged damaged = find_damaged(op, collection, full, report);
    // The report names damaged rows already, so a read that they stop adds nothing to it.
    const int64_t non_compliant = base::guarded([&] { return count_non_compliant(op, collection); });
    if (non_compliant > 0) {
      report.warnings.push_back(
          "Detected one or more documents in this collection not compliant with the collection's schema. Check logs for log id "
          "5363500.");
    }
    append_report(*collection, report, nullptr, damaged, non_compliant, reply);
  }

 private:
  // Both look for the collection of this name, or for a time series's buckets, and change `ns` to the latter's name.
  static std::shared_ptr<storage::Collection> collection_to_check(OperationContext& op, storage::Catalog& catalog,
                                                                  std::string& ns) {
    const auto found = base::guarded([&] {
      if (query::find_series(op, ns)) ns = query::buckets_of(ns);
      return std::optional(catalog.find(ns));
    });
    return found ? *found : collection_to_repair(op, catalog, ns);  // what branches show is damaged
  }
  // A repair is of all branches, whichever show the collection, and what they show may be damaged.
  static std::shared_ptr<storage::Collection> collection_to_repair(OperationContext& op, storage::Catalog& catalog,
                                                                   std::string& ns) {
    const std::string buckets = query::buckets_of(ns);
    if (!base::guarded([&] { return query::find_series(op, ns); })) {
      auto collection = catalog.open(ns);
      if (collection || !catalog.open(buckets)) return collection;
    }
    ns = buckets;
    return catalog.open(ns);
  }

  base::InterruptibleMutex repairing_;  // one repair at a time
};

}  // namespace

std::unique_ptr<Command> make_validate_command() {
  return std::make_unique<Validate>();
}

}  // namespace server
