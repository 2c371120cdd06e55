// These tests read indexes from before entries had types. They make one by removing the types from its rows and from the
// catalog.
#include "storage/collections/covered_values.h"
#include "storage/upkeep/validate.h"

#include <catch2/catch.hpp>

#include <algorithm>

#include "bson/json.h"
#include "storage/collections/catalog_rows.h"
#include "storage/indexes/index_options.h"
#include "storage/testing/temporary_store.h"

using namespace storage;
using bson::json;

namespace {

StoreOptions options(const std::string& path) {
  StoreOptions options = test_options(path);
  options.dedup.enabled = false;
  return options;
}

using Rows = std::vector<std::pair<Bytes, Bytes>>;

Rows rows(Store& store, const Table& table) {
  Rows all;
  Transaction transaction(store, Transaction::Mode::read);
  TableCursor cursor = table.cursor(transaction);
  while (cursor.next()) all.emplace_back(cursor.key(), cursor.value());
  return all;
}

// Returns a row's value without its types: it is empty, or the record of a unique index.
Bytes bare(const Index& index, BytesView value) {
  return index.spec().unique ? record_key(record_from_key(value)) : Bytes();
}

bool has_types(Store& store, const Index& index) {
  const Rows all = rows(store, index.table());
  return std::any_of(all.begin(), all.end(), [&](const auto& row) { return row.second != bare(index, row.second); });
}

void make_old(Store& store, const Collection& collection) {
  const Table catalog("catalog");
  in_transaction(store, [&](Transaction& transaction) {
    for (CollectionEntry& entry : read_catalog(transaction, catalog).collections) {
      for (IndexEntry& index : entry.indexes) index.types = false;
      write_entry(transaction, catalog, entry);
    }
  });
  for (const auto& index : collection.indexes()) {
    const Rows all = rows(store, index->table());
    in_transaction(store, [&](Transaction& transaction) {
      for (const auto& [key, value] : all) index->table().put(transaction, key, bare(*index, value));
    });
  }
}

bool tells(const Collection& collection, const std::string& name) {
  return entries_have_values(collection, *collection.index(name));
}

void change(Store& store, Collection& collection, int id, const char* to) {
  in_transaction(store, [&](Transaction& transaction) {
    const auto record = collection.find_id(transaction, bson::Value(id));
    const auto before = collection.find(transaction, *record);
    collection.update(transaction, *record, before->view(), json(to));
  });
}

void require_valid(Store& store, const std::shared_ptr<Collection>& collection) {
  const ValidateReport report = validate_collection(store, collection, false);
  for (const auto& error : report.errors) UNSCOPED_INFO(error);
  REQUIRE(report.valid);
}

const char* const names[] = {"_id_", "n", "u"};

}  // namespace

TEST_CASE("an index from before entries had types is read and written on, and tells values once it is rebuilt") {
  TemporaryDirectory directory;
  {
    Store store(options(directory.path()));
    const auto made = store.catalog().create("shop.orders", {});
    store.catalog().create_indexes(made, {parse_index_spec(json("{key: {n: 1}, name: 'n'}")),
                                          parse_index_spec(json("{key: {u: 1}, name: 'u', unique: true}"))});
    in_transaction(store, [&](Transaction& transaction) {
      for (int i = 0; i < 20; ++i)
        made->insert(transaction,
                     json("{_id: " + std::to_string(i) + ", n: 1.0, u: {$numberLong: '" + std::to_string(i) + "'}}"));
    });
    for (const char* name : names) CHECK(tells(*made, name));
    CHECK(has_types(store, *made->index("u")));
    make_old(store, *made);
  }
  {
    Store store(options(directory.path()));
    const auto old = store.catalog().open("shop.orders");
    require_valid(store, old);
    change(store, *old, 3, "{_id: 3, n: 1, u: 3.0}");
    change(store, *old, 4, "{_id: 4, n: 7.0, u: 40.0}");
    in_transaction(store, [&](Transaction& transaction) { old->insert(transaction, json("{_id: 20.0, n: 2.0, u: 20.0}")); });
    IndexSpec hidden = old->index("n")->spec();
    set_hidden(hidden, true);
    store.catalog().alter_index(old, hidden);
    require_valid(store, old);
  }
  Store store(options(directory.path()));
  const auto collection = store.catalog().open("shop.orders");
  require_valid(store, collection);
  for (const char* name : names) {
    INFO(name);
    const auto index = collection->index(name);
    CHECK_FALSE(tells(*collection, name));
    CHECK_FALSE(has_types(store, *index));
    Transaction transaction(store, Transaction::Mode::read);
    const auto cursor = collection->scan(transaction, *index, Direction::forward);
    cursor->seek({});
    int entries = 0;
    for (; cursor->next(); ++entries) CHECK_FALSE(dynamic_cast<const EntryTypes&>(*cursor).types());
    CHECK(entries == 21);
  }
  store.catalog().create_indexes(collection, {parse_index_spec(json("{key: {u: -1}, name: 'new'}"))});
  CHECK(tells(*collection, "new"));
  CHECK_FALSE(tells(*collection, "n"));
  store.catalog().rebuild_indexes(collection);
  for (const char* name : names) CHECK(tells(*collection, name));
  CHECK(has_types(store, *collection->index("u")));
  require_valid(store, collection);
}
