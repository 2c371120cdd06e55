#include "storage/upkeep/damaged_documents.h"

#include <map>
#include <set>

#include "base/error.h"
#include "bson/builder.h"
#include "bson/json.h"
#include "bson/key_types.h"
#include "bson/validate.h"
#include "storage/collections/stored_collection.h"
#include "storage/contents/record_store_state.h"
#include "storage/engine/readable_rows.h"
#include "storage/indexes/entry_types.h"

namespace storage {
namespace {

constexpr size_t ask_every = 256;

class Search {
 public:
  Search(Engine& engine, StoredCollection& collection, const std::function<void()>& interrupted)
      : engine_(engine), collection_(collection), interrupted_(interrupted) {}

  std::map<RecordId, DamagedDocument> found;

  void run(bool rows_gone) {
    const StoreTables& tables = collection_.records().state().chains.tables();
    for (const Table* table : {&tables.records, &tables.packed}) look_at_rows(*table);
    if (rows_gone || holes_ || !found.empty()) ask_index();
  }

 private:
  void ask() {
    if (interrupted_ && ++asked_ % ask_every == 0) interrupted_();
  }

  void look_at_rows(const Table& table) {
    try {
      ReadableRows rows(engine_, table);
      while (rows.next()) {
        ask();
        const RecordId record = record_from_key(rows.key());
        seen_.insert(record);
        look_at(record);
      }
      holes_ = holes_ || rows.holes() > 0;
    } catch (const base::OperationError& damage) {
      if (damage.code() != base::ErrorCode::data_corruption_detected) throw;
      holes_ = true;  // not one row can be reached
    }
  }

  void look_at(RecordId record) {
    std::string why = "its record is missing";
    bool invalid = false;
    try {
      Transaction transaction(engine_, Transaction::Mode::read);
      transaction.pass_by_caches();
      if (const auto content = collection_.records().find(transaction, record)) {
        const auto document = bson::validate(*content);
        if (document.ok() && document.value().size() == content->size()) return;
        why = "it is not a valid document";
        invalid = true;
      }
    } catch (const base::OperationError& damage) {
      if (damage.code() != base::ErrorCode::data_corruption_detected) throw;
      why = damage.what();
    }
    found[record] = {record, {}, why, invalid};
  }

  void ask_index() {
    for (const auto& index : *collection_.stored_indexes()) {
      if (!index->is_id()) continue;
      try {
        Transaction transaction(engine_, Transaction::Mode::read);
        const auto cursor = index->cursor(transaction, Direction::forward);
        const auto* const typed = dynamic_cast<const EntryTypes*>(cursor.get());
        cursor->seek({});
        while (cursor->next()) {
          ask();
          const RecordId record = cursor->record();
          if (!seen_.contains(record) && !found.contains(record)) look_at(record);
          const auto damaged = found.find(record);
          if (damaged == found.end()) continue;
          // A sort key doesn't say what its string was.
          if (index->spec().collator) {
            damaged->second.key = Bytes(cursor->key());
            continue;
          }
          bson::Builder id;
          const Bytes types(typed ? typed->types().value_or(BytesView()) : BytesView());
          bson::KeyReader values(cursor->key(), types);
          values.next(false, "_id", id);
          if (values.ok()) damaged->second.id = id.done();
        }
      } catch (const base::OperationError& damage) {
        if (damage.code() != base::ErrorCode::data_corruption_detected) throw;
      }
    }
  }

  Engine& engine_;
  StoredCollection& collection_;
  const std::function<void()>& interrupted_;
  std::set<RecordId> seen_;
  bool holes_ = false;
  size_t asked_ = 0;
};

}  // namespace

std::vector<DamagedDocument> damaged_documents(Engine& engine, StoredCollection& collection, size_t count_max,
                                               const std::function<void()>& interrupted, bool rows_gone) {
  Search search(engine, collection, interrupted);
  search.run(rows_gone);
  std::vector<DamagedDocument> documents;
  for (auto& [record, document] : search.found) {
    if (documents.size() == count_max) break;
    documents.push_back(std::move(document));
  }
  return documents;
}

std::string name_of(const DamagedDocument& document) {
  const std::string record = "record " + std::to_string(document.record);
  return document.id.empty() ? record : "document " + bson::to_shell(document.id) + " (" + record + ")";
}

}  // namespace storage
