#include "storage/collections/catalog_rows.h"

#include "base/error.h"
#include "bson/builder.h"
#include "bson/validate.h"

namespace storage {
namespace {

constexpr uint8_t uuid_subtype = 4;

void append_be32(Bytes& out, uint32_t value) {
  base::append_le(out, __builtin_bswap32(value));
}
void append_be16(Bytes& out, uint32_t value) {
  base::append_le(out, __builtin_bswap16(static_cast<uint16_t>(value)));
}
uint32_t be32(const char* at) {
  return __builtin_bswap32(base::load_le<uint32_t>(at));
}
uint32_t be16(const char* at) {
  return __builtin_bswap16(base::load_le<uint16_t>(at));
}

[[noreturn]] void damaged(const std::string& what) {
  throw base::OperationError(base::ErrorCode::data_corruption_detected, "the catalog is damaged: " + what);
}

bson::DocumentView checked(BytesView row) {
  const auto document = bson::validate(row);
  if (!document.ok()) damaged(document.failure().message);
  return document.value();
}

Bytes index_prefix(CollectionId collection, uint32_t index) {
  Bytes key = catalog_key(collection);
  append_be32(key, index);
  return key;
}

// This follows the collection in the row of one that was dropped.
constexpr char was_dropped = 1;

Bytes dropped_key(CollectionId collection) {
  return catalog_key(collection) + Bytes(1, was_dropped);
}

// One of these bytes follows the field in the rows of a wildcard index.
constexpr size_t multikey_key_bytes = 10;
constexpr char one_path = 1;
constexpr char all_paths = 2;

void read_multikey_path(BytesView rest, CatalogContents::Multikey& row) {
  if (rest.empty()) return;
  if (rest.front() == one_path) {
    row.path = std::string(rest.substr(1));
  } else if (rest.front() == all_paths && rest.size() == 1) {
    row.all_paths = true;
  } else {
    damaged("a key of a wildcard index's paths");
  }
}

void remove_below(Transaction& transaction, const Table& table, const Bytes& prefix) {
  std::vector<Bytes> keys;
  {
    TableCursor cursor = table.cursor(transaction);
    for (bool on = cursor.seek(prefix); on && cursor.key().starts_with(prefix); on = cursor.next())
      keys.emplace_back(cursor.key());
  }
  for (const Bytes& key : keys) table.remove(transaction, key);
}

}  // namespace

Bytes catalog_key(CollectionId collection) {
  Bytes key;
  append_be32(key, collection);
  return key;
}

Bytes multikey_key(CollectionId collection, uint32_t index, uint32_t field) {
  Bytes key = index_prefix(collection, index);
  append_be16(key, field);
  return key;
}

bson::Document encode_entry(const CollectionEntry& entry) {
  bson::Builder out;
  out.append("id", int64_t{entry.id}).append("ns", entry.ns).append("uuid", bson::Binary{uuid_subtype, entry.uuid});
  out.append("options", entry.options.document);
  if (entry.options.capped) {
    out.append("cappedBytes", entry.options.capped_bytes).append("cappedRecords", entry.options.capped_records);
  }
  {
    bson::ArrayBuilder indexes = out.array("indexes");
    for (const IndexEntry& index : entry.indexes) {
      bson::Builder one = indexes.object();
      one.append("number", int64_t{index.number}).append("spec", index.spec).append("ready", index.ready);
      if (index.types) one.append("types", true);
      if (index.multikey_fields) one.append("multikeyFields", int64_t{*index.multikey_fields});
    }
  }
  out.append("nextIndex", int64_t{entry.next_index});
  return out.done();
}

CollectionEntry decode_entry(BytesView row) {
  const bson::DocumentView document = checked(row);
  CollectionEntry entry;
  entry.id = static_cast<CollectionId>(document["id"].to_int64());
  if (!document["ns"].is_string() || document["uuid"].type() != bson::Type::binary || !document["options"].is_object() ||
      !document["indexes"].is_array()) {
    damaged("an entry lacks its fields");
  }
  entry.ns = document["ns"].as_string();
  entry.uuid = document["uuid"].as_binary().bytes;
  entry.options.document = bson::Document(document["options"].as_document());
  read_option_document(entry.options);
  entry.options.capped = document.has("cappedBytes");
  entry.options.capped_bytes = document["cappedBytes"].to_int64();
  entry.options.capped_records = document["cappedRecords"].to_int64();
  for (const bson::Element& one : document["indexes"].as_document()) {
    if (!one.is_object() || !one.as_document()["spec"].is_object()) damaged("an index of " + entry.ns + " lacks its fields");
    const bson::DocumentView index = one.as_document();
    entry.indexes.push_back({static_cast<uint32_t>(index["number"].to_int64()), bson::Document(index["spec"].as_document()),
                             index["ready"].truthy()});
    entry.indexes.back().types = index["types"].truthy();
    if (index.has("multikeyFields"))
      entry.indexes.back().multikey_fields = static_cast<uint32_t>(index["multikeyFields"].to_int64());
  }
  entry.next_index = static_cast<uint32_t>(document["nextIndex"].to_int64());
  return entry;
}

bson::Document encode_dropped(const DroppedEntry& dropped) {
  bson::Builder out;
  out.append("dropped", static_cast<int64_t>(dropped.dropped)).append("entry", encode_entry(dropped.entry));
  return out.done();
}

DroppedEntry decode_dropped(BytesView row) {
  const bson::DocumentView document = checked(row);
  if (!document["dropped"].is_number() || !document["entry"].is_object()) damaged("a dropped collection lacks its fields");
  return {static_cast<Stamp>(document["dropped"].to_int64()), decode_entry(document["entry"].as_document().bytes())};
}

CatalogContents read_catalog(Transaction& transaction, const Table& table) {
  CatalogContents contents;
  TableCursor cursor = table.cursor(transaction);
  while (cursor.next()) {
    const BytesView key = cursor.key();
    if (key.size() >= multikey_key_bytes) {
      CatalogContents::Multikey one{be32(key.data()), be32(key.data() + 4), be16(key.data() + 8)};
      read_multikey_path(key.substr(multikey_key_bytes), one);
      contents.multikey.push_back(std::move(one));
    } else if (key.size() == 5 && key.back() == was_dropped) {
      contents.dropped.push_back(decode_dropped(cursor.value()));
    } else if (key.size() != 4) {
      damaged("a key of " + std::to_string(key.size()) + " bytes");
    } else if (be32(key.data()) == 0) {
      contents.next_collection = static_cast<CollectionId>(checked(cursor.value())["nextCollection"].to_int64());
    } else {
      contents.collections.push_back(decode_entry(cursor.value()));
    }
  }
  return contents;
}

void write_next_collection(Transaction& transaction, const Table& table, CollectionId next) {
  bson::Builder out;
  out.append("nextCollection", int64_t{next});
  table.put(transaction, catalog_key(0), out.done().bytes());
}

void write_entry(Transaction& transaction, const Table& table, const CollectionEntry& entry) {
  table.put(transaction, catalog_key(entry.id), encode_entry(entry).bytes());
}

void remove_entry(Transaction& transaction, const Table& table, CollectionId collection) {
  remove_below(transaction, table, catalog_key(collection));
}

void write_dropped(Transaction& transaction, const Table& table, const DroppedEntry& dropped) {
  table.put(transaction, dropped_key(dropped.entry.id), encode_dropped(dropped).bytes());
}

void write_multikey(Transaction& transaction, const Table& table, CollectionId collection, uint32_t index, uint32_t field) {
  table.put(transaction, multikey_key(collection, index, field), {});
}

void write_multikey_path(Transaction& transaction, const Table& table, CollectionId collection, uint32_t index, uint32_t field,
                         std::string_view path) {
  table.put(transaction, multikey_key(collection, index, field) + Bytes(1, one_path) + Bytes(path), {});
}

void write_multikey_all_paths(Transaction& transaction, const Table& table, CollectionId collection, uint32_t index,
                              uint32_t field) {
  table.put(transaction, multikey_key(collection, index, field) + Bytes(1, all_paths), {});
}

void remove_multikey(Transaction& transaction, const Table& table, CollectionId collection, uint32_t index) {
  remove_below(transaction, table, index_prefix(collection, index));
}

}  // namespace storage
