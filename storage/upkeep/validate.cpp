#include "storage/upkeep/validate.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "base/error.h"
#include "bson/validate.h"
#include "storage/background/dedup_service.h"
#include "storage/collections/stored_catalog.h"
#include "storage/contents/chain_check.h"
#include "storage/contents/contents.h"
#include "storage/contents/record_store_state.h"
#include "storage/contents/store_tables.h"
#include "storage/engine/internals.h"
#include "storage/format/page_compressor.h"
#include "storage/indexes/index_keys.h"
#include "storage/store.h"
#include "storage/upkeep/damaged_documents.h"

namespace storage {
namespace {

constexpr size_t named_max = 100;       // At most this many errors of one kind are named one by one.
constexpr size_t damaged_max = 10'000;  // At most this many damaged documents are named.

// This class checks records against indexes and back, in one snapshot.
class Validation {
 public:
  Validation(Store& store, StoredCollection& collection, const std::function<void()>& interrupted)
      : store_(store),
        engine_(store.engine()),
        collection_(collection),
        indexes_(*collection.stored_indexes()),
        interrupted_(interrupted) {
    for (const auto& index : indexes_) report.indexes.push_back({index->spec().name, 0, true});
    expected_.resize(indexes_.size());
  }

  void run(bool full) {
    std::optional<StoreCounts> counted;
    std::optional<Transaction> begun;
    {
      // While clients and dedup's background stand still, the counts in memory are those of the snapshot.
      std::unique_lock<std::mutex> still;
      if (full) still = store_.dedup().hold();
      begun.emplace(engine_, Transaction::Mode::read);
      const ChainStore& chains = collection_.records().state().chains;
      guarded("the table of heads",
              [&] { chains.tables().heads.get(*begun, record_key(0)); });  // The first read begins the snapshot.
      if (full && store_.dedup().counted(collection_)) counted = chains.counters().get();
    }
    Transaction& transaction = *begun;
    walk_records(transaction);
    if (report.corrupt_records > 0) name_damaged();
    guarded("the chains can't be walked to the end", [&] { check_stored(transaction, counted); });
    for (size_t i = 0; i < indexes_.size(); ++i) {
      if (!guarded("index " + indexes_[i]->spec().name + " can't be walked to the end", [&] { walk_index(transaction, i); }))
        report.indexes[i].valid = false;
    }
    // The counter is read outside the snapshot. It equals the snapshot's count only if nobody writes, and validate holds the
    // schema lock.
    report.records_counted = collection_.stored_records();
    if (report.corrupt_records == 0 && report.records_counted != report.records) {
      report.warnings.push_back("the stored count of records is " + std::to_string(report.records_counted) + ", but there are " +
                                std::to_string(report.records));
    }
  }

  void verify_files() {
    if (const std::string again = store_.contents().page_compressors.check_file(collection_.id()); !again.empty()) {
      report.warnings.push_back(again);
    }
    Tables& tables = engine_.internals().tables;
    std::vector<std::string> names = store_table_names(collection_.id());
    for (const auto& index : indexes_) names.push_back(index->table().name());
    bool written = false;
    for (const std::string& name : names) {
      if (interrupted_) interrupted_();
      if (!tables.exists(name)) continue;
      bool busy = false;
      std::string problem = tables.verify(name, busy, interrupted_);
      // The cause is usually a change that isn't in the file yet, so a checkpoint helps.
      if (busy && !std::exchange(written, true)) engine_.checkpoint();
      if (busy) problem = tables.verify(name, busy, interrupted_);
      if (busy) {
        report.warnings.push_back("Could not complete validation of table:" + name +
                                  ". This is a transient issue as the table was actively in use by other operations.");
      } else if (!problem.empty()) {
        error("table:" + name + ": " + problem);
      }
    }
  }

  ValidateReport report;

 private:
  // Does the work. If it meets damaged data, that becomes an error of the report, and the result is false.
  template <class Work>
  bool guarded(const std::string& what, Work work) {
    try {
      work();
      return true;
    } catch (const base::OperationError& damage) {
      if (damage.code() != base::ErrorCode::data_corruption_detected) throw;
      error(what + ": " + damage.what());
      return false;
    }
  }

  // Every document that can't be read is an error of its own, under its `_id`.
  void name_damaged() {
    report.corrupt_records = 0;
    for (const DamagedDocument& document : damaged_documents(engine_, collection_, damaged_max, interrupted_)) {
      if (document.invalid) continue;
      ++report.corrupt_records;
      report.errors.push_back(name_of(document) + " can't be read: " + document.why);
    }
  }

  void error(std::string what) {
    report.valid = false;
    if (report.errors.size() < named_max) {
      report.errors.push_back(std::move(what));
    } else if (report.errors.size() == named_max) {
      report.errors.push_back("there are more errors than are named here");
    }
  }

  void walk_records(Transaction& transaction) {
    std::optional<RecordCursor> opened;
    for (;;) {
      try {
        if (!opened) opened.emplace(collection_.records().cursor(transaction));
        if (!opened->next()) return;
      } catch (const base::OperationError& damage) {
        if (damage.code() != base::ErrorCode::data_corruption_detected) throw;
        ++report.corrupt_records;
        return error(std::string("the records can't be walked to the end: ") + damage.what());
      }
      ++report.records;
      if (interrupted_) interrupted_();
      check_record(transaction, *opened);
    }
  }

  // This function checks how contents are kept: the deltas, their bases and the counts of references.
  void check_stored(Transaction& transaction, const std::optional<StoreCounts>& counted) {
    const ChainReport chains = check_chains(collection_.records().state().chains, transaction, true, interrupted_);
    for (const auto& problem : chains.problems) error("record " + std::to_string(problem.record) + ": " + problem.what);
    if (!counted || chains.problem_count > 0) return;
    StoreCounts difference = *counted;
    difference -= chains.counts;
    if (difference.of_rows() != StoreCounts{}) report.warnings.push_back("the stored counts of deltas and heads are wrong");
  }

  void check_record(Transaction& transaction, RecordCursor& cursor) {
    const RecordId record = cursor.id();
    Bytes content;
    try {
      content = cursor.content();
    } catch (const base::OperationError& damage) {
      if (damage.code() != base::ErrorCode::data_corruption_detected) throw;
      report.valid = false;
      ++report.corrupt_records;  // name_damaged() names it
      return;
    }
    const auto document = bson::validate(content);
    if (!document.ok() || document.value().size() != content.size()) {
      ++report.invalid_documents;
      return error("record " + std::to_string(record) +
                   " is not a valid document: " + (document.ok() ? "bytes behind its end" : document.failure().message));
    }
    for (size_t i = 0; i < indexes_.size(); ++i) {
      if (unreadable_.contains(i)) continue;
      if (guarded("index " + indexes_[i]->spec().name + " can't be read",
                  [&] { check_keys(transaction, i, record, document.value()); }))
        continue;
      unreadable_.insert(i);
      report.indexes[i].valid = false;
    }
  }

  // Without the catalog's predicate compiler nobody knows which documents a partial index takes.
  static bool is_filter_known(const StoredIndex& index) { return !index.partial() || index.partial_predicate(); }

  // A document is in a partial index with all its keys, or with none.
  void check_keys_under_unknown_filter(Transaction& transaction, size_t i, RecordId record, bson::DocumentView document) {
    const StoredIndex& index = *indexes_[i];
    try {
      index_keys(index.spec(), document, keys_);
    } catch (const base::OperationError&) {
      return;  // The filter excludes the document.
    }
    const bool some =
        std::any_of(keys_.keys.begin(), keys_.keys.end(), [&](const Bytes& key) { return index.has(transaction, key, record); });
    if (some) check_entries(transaction, i, record, document);
  }

  void check_keys(Transaction& transaction, size_t i, RecordId record, bson::DocumentView document) {
    const StoredIndex& index = *indexes_[i];
    if (!is_filter_known(index)) return check_keys_under_unknown_filter(transaction, i, record, document);
    try {
      index.keys_of(document, keys_);
    } catch (const base::OperationError& refusal) {
      report.indexes[i].valid = false;
      return error("record " + std::to_string(record) + " has no keys under index " + index.spec().name + ": " + refusal.what());
    }
    check_entries(transaction, i, record, document);
  }

  // The document's keys are in `keys_`.
  void check_entries(Transaction& transaction, size_t i, RecordId record, bson::DocumentView document) {
    const StoredIndex& index = *indexes_[i];
    if (keys_.multikey_fields & ~index.multikey_fields()) {
      report.indexes[i].valid = false;
      error("record " + std::to_string(record) + " has an array under index " + index.spec().name +
            ", which is not marked multikey");
    }
    for (const std::string& path : index.multikey_path_set().missing(keys_.multikey_paths)) {
      report.indexes[i].valid = false;
      error("record " + std::to_string(record) + " has an array at " + path + " under index " + index.spec().name +
            ", where none is marked");
    }
    expected_[i] += static_cast<int64_t>(keys_.keys.size());
    for (size_t k = 0; k < keys_.keys.size(); ++k) {
      const Bytes& key = keys_.keys[k];
      if (index.has(transaction, key, record)) {
        check_types(transaction, i, record, k);
        continue;
      }
      report.indexes[i].valid = false;
      if (report.missing_entries.size() < named_max) {
        bson::Builder id;
        id.append("_id", document["_id"]);
        report.missing_entries.push_back(
            {index.spec().name, record, key, id.done(), index_key_values(index.spec(), document, key)});
      }
      error("missing entry for record " + std::to_string(record) + " in index " + index.spec().name + ", key " +
            base::to_hex(key));
    }
  }

  void check_types(Transaction& transaction, size_t i, RecordId record, size_t k) {
    const auto types = indexes_[i]->types(transaction, keys_.keys[k], record);
    if (!types || *types == keys_.types_at(k)) return;
    report.indexes[i].valid = false;
    error("the entry for record " + std::to_string(record) + " in index " + indexes_[i]->spec().name +
          " tells other types than the document has, key " + base::to_hex(keys_.keys[k]));
  }

  // If the index has as many entries as there are keys, and all keys were found, the index has no wrong entry.
  void walk_index(Transaction& transaction, size_t i) {
    const auto cursor = indexes_[i]->cursor(transaction, Direction::forward);
    cursor->seek({});
    int64_t& entries = report.indexes[i].keys;
    while (cursor->next()) {
      ++entries;
      if (interrupted_) interrupted_();
    }
    if (entries != expected_[i] || !report.indexes[i].valid) find_dangling(transaction, i);
    if (!is_filter_known(*indexes_[i])) {
      report.warnings.push_back("index " + indexes_[i]->spec().name +
                                " is partial: its entries were checked, but only a server can say whether some are missing");
    }
  }

  void find_dangling(Transaction& transaction, size_t i) {
    const StoredIndex& index = *indexes_[i];
    const auto cursor = index.cursor(transaction, Direction::forward);
    cursor->seek({});
    while (cursor->next()) {
      if (entry_is_due(transaction, index, cursor->record(), cursor->key())) continue;
      report.indexes[i].valid = false;
      if (report.extra_entries.size() < named_max)
        report.extra_entries.push_back({index.spec().name, cursor->record(), Bytes(cursor->key()), {}, {}});
      error("dangling entry in index " + index.spec().name + " for record " + std::to_string(cursor->record()) + ", key " +
            base::to_hex(cursor->key()));
    }
  }

  bool entry_is_due(Transaction& transaction, const StoredIndex& index, RecordId record, BytesView key) {
    std::optional<bson::Document> document;
    try {
      document = collection_.find(transaction, record, nullptr);
    } catch (const base::OperationError& damage) {
      if (damage.code() != base::ErrorCode::data_corruption_detected) throw;
      return true;  // The record's own damage was reported.
    }
    if (!document) return false;
    try {
      if (is_filter_known(index))
        index.keys_of(document->view(), keys_);
      else
        index_keys(index.spec(), document->view(), keys_);
    } catch (const base::OperationError&) {
      return is_filter_known(index);  // The missing keys were reported.
    }
    return std::find(keys_.keys.begin(), keys_.keys.end(), key) != keys_.keys.end();
  }

  Store& store_;
  Engine& engine_;
  StoredCollection& collection_;
  const StoredIndexes indexes_;
  const std::function<void()>& interrupted_;
  std::set<size_t> unreadable_;  // these indexes are damaged
  std::vector<int64_t> expected_;
  IndexKeys keys_;
};

ValidateReport validate_stored(Store& store, StoredCollection& collection, bool full, const std::function<void()>& interrupted) {
  const auto schema = base::hold_exclusively(collection.schema_mutex(), interrupted);
  if (collection.dropped())
    throw base::OperationError(base::ErrorCode::namespace_not_found,
                               "Collection '" + collection.ns() + "' does not exist to validate.");
  Validation validation(store, collection, interrupted);
  if (full) validation.verify_files();
  validation.run(full);
  return std::move(validation.report);
}

ValidateReport validate_by_scan(Engine& engine, Collection& collection, const std::function<void()>& interrupted) {
  ValidateReport report;
  Transaction transaction(engine, Transaction::Mode::read);
  const auto scan = collection.scan(transaction, Direction::forward);
  for (;;) {
    try {
      if (!scan->next()) break;
    } catch (const base::OperationError& damage) {
      if (damage.code() != base::ErrorCode::data_corruption_detected) throw;
      report.valid = false;
      report.errors.push_back(std::string("the documents can't be walked to the end: ") + damage.what());
      break;
    }
    ++report.records;
    if (interrupted) interrupted();
    try {
      scan->document();
    } catch (const base::OperationError& damage) {
      if (damage.code() != base::ErrorCode::data_corruption_detected) throw;
      report.valid = false;
      ++report.corrupt_records;
      if (report.errors.size() < named_max)
        report.errors.push_back("record " + std::to_string(scan->record()) + ": " + damage.what());
    }
  }
  report.records_counted = collection.record_count();
  return report;
}

}  // namespace

ValidateReport validate_collection(Store& store, const std::shared_ptr<Collection>& collection, bool full,
                                   const std::function<void()>& interrupted) {
  const std::shared_ptr<Collection> home = collection->home();
  if (auto stored = std::dynamic_pointer_cast<StoredCollection>(home ? home : collection))
    return validate_stored(store, *stored, full, interrupted);
  return validate_by_scan(store.engine(), *collection, interrupted);
}

}  // namespace storage
