#include "storage/collections/past_catalog.h"

#include <algorithm>

#include "base/error.h"
#include "storage/engine/engine.h"
#include "storage/engine/internals.h"

namespace storage {
namespace {

constexpr char table_name[] = "past-catalog";
const TableOptions table_options{.allocation_bytes = 512, .copied = true};

Bytes row_key(CollectionId collection, Stamp snapshot) {
  Bytes key = catalog_key(collection);
  base::append_be64(key, snapshot);
  return key;
}

}  // namespace

PastCatalog::PastCatalog(Engine& engine) : engine_(engine) {
  if (engine.internals().tables.exists(table_name)) make();
}

void PastCatalog::make() {
  if (!table_.exists()) table_ = engine_.open_table(table_name, table_options);
}

void PastCatalog::save(Transaction& transaction, CollectionId collection, const CollectionEntry* before, Stamp snapshot) const {
  table_.insert(transaction, row_key(collection, snapshot), before ? encode_entry(*before).bytes() : BytesView());
}

void PastCatalog::each(Transaction& transaction, std::optional<CollectionId> collection,
                       const std::function<void(Row&&)>& visit) const {
  if (!table_.exists()) return;
  const Bytes prefix = collection ? catalog_key(*collection) : Bytes();
  TableCursor cursor = table_.cursor(transaction);
  for (bool on = prefix.empty() ? cursor.next() : cursor.seek(prefix); on && cursor.key().starts_with(prefix);
       on = cursor.next()) {
    const BytesView key = cursor.key(), value = cursor.value();
    if (key.size() != sizeof(CollectionId) + sizeof(Stamp)) {
      throw base::OperationError(base::ErrorCode::data_corruption_detected, "a row of the past catalog is damaged");
    }
    Row row{__builtin_bswap32(base::load_le<uint32_t>(key.data())), base::load_be64(key.data() + sizeof(CollectionId)),
            std::nullopt};
    if (!value.empty()) row.entry = decode_entry(value);
    visit(std::move(row));
  }
}

std::map<CollectionId, std::optional<CollectionEntry>> PastCatalog::as_of(Transaction& transaction, Stamp snapshot) const {
  std::map<CollectionId, std::optional<CollectionEntry>> found;
  each(transaction, std::nullopt, [&](Row&& row) {
    if (row.snapshot >= snapshot) found.try_emplace(row.collection, std::move(row.entry));
  });
  return found;
}

std::optional<CollectionEntry> PastCatalog::newest(Transaction& transaction, CollectionId collection) const {
  std::optional<CollectionEntry> newest;
  each(transaction, collection, [&](Row&& row) {
    if (row.entry) newest = std::move(row.entry);
  });
  return newest;
}

bool PastCatalog::lists_index(Transaction& transaction, CollectionId collection, uint32_t index) const {
  bool listed = false;
  each(transaction, collection, [&](Row&& row) {
    if (!row.entry) return;
    const auto& all = row.entry->indexes;
    listed =
        listed || std::any_of(all.begin(), all.end(), [&](const IndexEntry& one) { return one.number == index && one.ready; });
  });
  return listed;
}

std::vector<CollectionId> PastCatalog::collections(Transaction& transaction) const {
  std::vector<CollectionId> all;
  each(transaction, std::nullopt, [&](Row&& row) {
    if (row.entry && (all.empty() || all.back() != row.collection)) all.push_back(row.collection);
  });
  return all;
}

void PastCatalog::each_entry(Transaction& transaction, const std::function<void(const CollectionEntry&)>& visit) const {
  each(transaction, std::nullopt, [&](Row&& row) {
    if (row.entry) visit(*row.entry);
  });
}

void PastCatalog::keep_only(Transaction& transaction, const std::vector<Stamp>& snapshots) const {
  std::vector<Bytes> gone;
  CollectionId collection = 0;
  Stamp before = 0;  // the position of the collection's row before this one
  each(transaction, std::nullopt, [&](Row&& row) {
    if (row.collection != collection) before = 0;
    collection = row.collection;
    const auto shown = std::upper_bound(snapshots.begin(), snapshots.end(), before);
    if (shown == snapshots.end() || *shown > row.snapshot) gone.push_back(row_key(row.collection, row.snapshot));
    before = row.snapshot;
  });
  for (const Bytes& key : gone) table_.remove(transaction, key);
}

}  // namespace storage
