#include <algorithm>
#include <charconv>

#include "base/log.h"
#include "storage/collections/stored_catalog.h"
#include "storage/contents/contents.h"
#include "storage/contents/record_store_state.h"
#include "storage/contents/store_tables.h"
#include "storage/engine/internals.h"
#include "storage/engine/readable_rows.h"

namespace storage {
namespace {

// Returns the collection in a table's name ("records-17", "index-17-2" -> 17), or 0 for tables that belong to no collection.
CollectionId owner_of(std::string_view table) {
  for (const std::string_view kind : {"records-", "packed-", "heads-", "chains-", "index-"}) {
    if (!table.starts_with(kind)) continue;
    CollectionId id = 0;
    std::from_chars(table.data() + kind.size(), table.data() + table.size(), id);
    return id;
  }
  return 0;
}

constexpr int log_counted_anew = 7200506;

// Returns false if the stored counts are damaged; the table of counts is empty then.
bool load_stored_counts(Engine& engine, StoredCounts& counts) {
  Engine::Internals& internals = engine.internals();
  try {
    Transaction transaction(engine, Transaction::Mode::read);
    counts = load_counts(transaction, internals.counts);
    return true;
  } catch (const base::OperationError& damage) {
    if (damage.code() != base::ErrorCode::data_corruption_detected) throw;
    base::log(base::Severity::warning, base::LogComponent::storage, log_counted_anew,
              "The counts of records are damaged; they are made anew", base::Attributes().add("error", damage.what()));
  }
  counts = {};
  internals.tables.make_empty(internals.counts.name());
  return false;
}

// Counts the rows that can be read.
void count_anew(Engine& engine, StoredCollection& collection) {
  const StoreTables& tables = collection.records().state().chains.tables();
  int64_t records = 0, bytes = 0;
  Stamp newest = 0;
  for (const Table* table : {&tables.records, &tables.packed}) {
    try {
      ReadableRows rows(engine, *table);
      while (rows.next()) {
        const RecordId record = record_from_key(rows.key());
        const auto row = parse_record_row(rows.value(), record);
        if (!row) continue;
        ++records;
        newest = std::max(newest, row.value().generation);
        if (row.value().form == RecordRow::Form::raw) {
          bytes += static_cast<int64_t>(row.value().content.size());
          continue;
        }
        const ChainKey key{row.value().chain, {record, row.value().generation}};
        Transaction transaction(engine, Transaction::Mode::read);
        const auto stored = tables.chains.get(transaction, chain_key(key));
        if (!stored) continue;
        const auto delta = parse_chain_row(*stored, key);
        if (delta) bytes += static_cast<int64_t>(delta.value().length);
      }
    } catch (const base::OperationError& damage) {
      if (damage.code() != base::ErrorCode::data_corruption_detected) throw;
    }
  }
  engine.raise_stamp(newest);
  collection.correct_counts(records, bytes);
}

}  // namespace

StoredCatalog::StoredCatalog(Contents& contents, PastCatalog& past)
    : services_{contents},
      engine_(contents.engine),
      past_catalog_(past),
      table_(engine_.open_table("catalog", {.allocation_bytes = 512, .copied = true})) {
  load();
  engine_.name_tables([this](std::string_view table) -> std::string {
    const base::ReaderLock lock(mutex_);
    const auto found = by_id_.find(owner_of(table));
    if (found == by_id_.end()) return {};
    std::string collection = "collection " + found->second->ns();
    if (!table.starts_with("index-")) return collection;
    const auto indexes = static_cast<StoredCollection&>(*found->second).stored_indexes();
    for (const auto& index : *indexes) {
      if (index->table().name() == table) return "index " + index->spec().name + " of " + collection;
    }
    return collection;
  });
}

void StoredCatalog::load() {
  CatalogContents contents;
  StoredCounts counts;
  {
    Transaction transaction(engine_, Transaction::Mode::read);
    contents = read_catalog(transaction, table_);
  }
  const bool counted = load_stored_counts(engine_, counts);
  engine_.raise_stamp(counts.newest);
  next_collection_ = contents.next_collection;
  for (CollectionEntry& entry : contents.collections) {
    // An index whose build was interrupted is no index.
    if (std::erase_if(entry.indexes, [](const IndexEntry& index) { return !index.ready; }) > 0) {
      in_transaction(engine_, [&](Transaction& transaction) { write_entry(transaction, table_, entry); });
    }
    const CollectionId id = entry.id;
    auto& count = counts.collections[id];
    if (!count) count = std::make_shared<Counts>();
    Shared collection = make(std::move(entry), count);
    if (!counted) count_anew(engine_, *collection);
    by_name_.emplace(collection->ns(), collection);
    by_id_.emplace(id, std::move(collection));
  }
  for (const auto& flag : contents.multikey) {
    const auto found = by_id_.find(flag.collection);
    if (found == by_id_.end() || flag.field >= 32) continue;
    for (const auto& index : *static_cast<StoredCollection&>(*found->second).stored_indexes()) {
      if (index->number() != flag.index) continue;
      if (flag.path) index->multikey_path_set().add({*flag.path});
      if (flag.all_paths) index->multikey_path_set().add_all();
      index->add_multikey_fields(uint32_t{1} << flag.field);
    }
  }
  load_past();
  load_dropped(std::move(contents.dropped));
  remove_orphans();
}

void StoredCatalog::load_past() {
  std::vector<CollectionEntry> entries;
  {
    const PastCatalog& past = past_catalog_;
    Transaction transaction(engine_, Transaction::Mode::read);
    for (const CollectionId id : past.collections(transaction)) {
      if (!by_id_.contains(id)) entries.push_back(*past.newest(transaction, id));
    }
  }
  for (CollectionEntry& entry : entries) {
    std::erase_if(entry.indexes, [](const IndexEntry& index) { return !index.ready; });
    // Directories of older versions don't have the flags: these went with the collection's entry.
    for (IndexEntry& index : entry.indexes) index.multikey_fields = index.multikey_fields.value_or(~uint32_t{0});
    const CollectionId id = entry.id;
    const Shared collection = make(std::move(entry), std::make_shared<Counts>());
    collection->set_dropped();
    past_.emplace(id, collection);
  }
}

void StoredCatalog::load_dropped(std::vector<DroppedEntry> entries) {
  std::sort(entries.begin(), entries.end(), [](const DroppedEntry& a, const DroppedEntry& b) { return a.dropped < b.dropped; });
  for (DroppedEntry& one : entries) {
    const auto past = past_.find(one.entry.id);
    const Shared collection = past != past_.end() ? past->second : make(std::move(one.entry), std::make_shared<Counts>());
    collection->set_dropped();
    dropped_.push_back({.collection = collection, .dropped = one.dropped});
  }
}

StoredCatalog::Shared StoredCatalog::make(CollectionEntry entry, std::shared_ptr<Counts> counts) {
  auto indexes = std::make_shared<StoredIndexes>();
  for (const IndexEntry& index : entry.indexes) indexes->push_back(make_index(entry.id, index));
  auto collection = std::make_shared<StoredCollection>(services_, table_, std::move(entry), std::move(counts));
  collection->set_indexes(std::move(indexes));
  return collection;
}

// Drops tables of collections and indexes that were dropped, or never finished, when the process ended.
void StoredCatalog::remove_orphans() {
  for (const std::string& table : engine_.table_names()) {
    const CollectionId owner = owner_of(table);
    if (owner == 0) continue;
    const auto found = by_id_.find(owner);
    bool used = found != by_id_.end();
    if (used && table.starts_with("index-")) {
      used = false;
      for (const auto& index : *static_cast<StoredCollection&>(*found->second).stored_indexes()) {
        used = used || index->table().name() == table;
      }
    }
    used = used || (!table.starts_with("index-") && std::any_of(dropped_.begin(), dropped_.end(),
                                                                [&](const auto& one) { return one.collection->id() == owner; }));
    if (used || past_shows(table, owner)) continue;
    base::log(base::Severity::info, base::LogComponent::storage, 22442, "Removing a table that belongs to nothing",
              base::Attributes().add("table", table));
    engine_.internals().tables.drop_now(table);
  }
}

}  // namespace storage
