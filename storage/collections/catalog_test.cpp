#include <catch2/catch.hpp>

#include <atomic>
#include <functional>
#include <optional>
#include <thread>

#include "base/testing.h"
#include "bson/json.h"
#include "storage/collections/past_catalog.h"
#include "storage/collections/stored_catalog.h"
#include "storage/contents/contents.h"
#include "storage/engine/internals.h"
#include "storage/engine/interruptible_waits.h"
#include "storage/format/page_compressor.h"
#include "storage/indexes/duplicate_key.h"
#include "storage/testing/full_cache.h"
#include "storage/upkeep/validate.h"

using namespace storage;
using base::ErrorCode;
using base::testing::error_of;
using bson::json;

namespace {

IndexSpec spec(const std::string& text) {
  return parse_index_spec(json(text));
}

std::vector<std::string> names(const Catalog& catalog, std::string_view db) {
  std::vector<std::string> found;
  for (const auto& collection : catalog.collections(db)) found.push_back(collection->ns());
  return found;
}

struct Log final : SchemaSink {
  void schema_changed(Transaction&, std::string_view db, BytesView, bson::DocumentView command, bson::DocumentView) override {
    lines.push_back(std::string(db) + " " + std::string(command.first().name));
  }
  std::vector<std::string> lines;
};

struct Stop {};

// Fills the cache once a change of the schema is committed, and interrupts whatever waits for room from then on.
// It looks a name up when a collection is dropped.
struct LooksUp final : WriteObserver {
  LooksUp(Catalog& where, std::string what) : catalog(where), ns(std::move(what)) {}
  bool listens() const override { return false; }
  bool wants(const Collection&, size_t) const override { return false; }
  void written(const std::shared_ptr<Collection>&, RecordId, Stamp, Stamp, bool, std::optional<Bytes>) override {}
  void removed(const std::shared_ptr<Collection>&, RecordId, Stamp) override {}
  void dropped(const std::shared_ptr<Collection>&) override { found.push_back(catalog.open(ns)); }

  Catalog& catalog;
  const std::string ns;
  std::vector<std::shared_ptr<Collection>> found;
};

struct FillsTheCache final : SchemaSink {
  explicit FillsTheCache(Store& owner) : store(owner), table(owner.engine().open_table("test-things")) {}
  void schema_changed(Transaction& transaction, std::string_view, BytesView, bson::DocumentView, bson::DocumentView) override {
    transaction.after_commit([this] {
      if (!full) full.emplace(store.engine(), table);
    });
  }
  void change(const std::function<void()>& work) {
    const base::Interrupted stop = [this] {
      if (full) throw Stop();
    };
    {
      const InterruptibleWaits waits(&stop);
      CHECK_NOTHROW(work());
    }
    CHECK(full);
    full.reset();
  }

  Store& store;
  const Table table;
  std::optional<FullCache> full;
};

}  // namespace

TEST_CASE("collections come, are found, renamed and go, and the catalog remembers over reopening") {
  TemporaryDirectory directory;
  Bytes uuid;
  {
    Store store(test_options(directory.path()));
    Catalog& catalog = store.catalog();
    CollectionOptions options;
    options.document = json("{capped: true, size: 4096, max: 3}");
    options.capped = true;
    options.capped_bytes = 4096;
    options.capped_records = 3;
    uuid = catalog.create("shop.log", options)->uuid_bytes();
    catalog.create("shop.orders", {});
    catalog.create("shop-b.orders", {});
    catalog.create("shop.a.b", {});
    CHECK(error_of([&] { catalog.create("shop.orders", {}); }) == ErrorCode::namespace_exists);
    CHECK(catalog.databases() == std::vector<std::string>{"shop", "shop-b"});
    CHECK(names(catalog, "shop") == std::vector<std::string>{"shop.a.b", "shop.log", "shop.orders"});
    catalog.rename("shop.orders", "archive.orders", false);
    CHECK(catalog.open("archive.orders")->ns() == "archive.orders");
    CHECK_FALSE(catalog.open("shop.orders"));
    CHECK(error_of([&] { catalog.rename("shop.a.b", "shop.log", false); }) == ErrorCode::namespace_exists);
    CHECK(error_of([&] { catalog.rename("shop.none", "shop.more", false); }) == ErrorCode::namespace_not_found);
    CHECK(error_of([&] { catalog.rename("shop.a.b", "shop.$x", false); }) == ErrorCode::invalid_namespace);
    catalog.rename("shop.a.b", "archive.orders", true);
    CHECK(catalog.drop("shop-b.orders"));
    CHECK_FALSE(catalog.drop("shop-b.orders"));
  }
  Store store(test_options(directory.path()));
  Catalog& catalog = store.catalog();
  CHECK(catalog.databases() == std::vector<std::string>{"archive", "shop"});
  CHECK(names(catalog, "shop") == std::vector<std::string>{"shop.log"});
  const auto log = catalog.open("shop.log");
  CHECK(log->uuid_bytes() == uuid);
  CHECK(log->options().capped);
  CHECK(log->options().capped_bytes == 4096);
  CHECK(log->options().capped_records == 3);
  CHECK(bson::to_json(log->options().document) == bson::to_json(json("{capped: true, size: 4096, max: 3}")));
  CHECK(catalog.open(log->id()) == log);
  CHECK(catalog.drop_database("shop"));
  CHECK_FALSE(catalog.drop_database("shop"));
  CHECK(log->dropped());
  CHECK(catalog.databases() == std::vector<std::string>{"archive"});
}

TEST_CASE("bad names are refused") {
  TemporaryDirectory directory;
  Store store(test_options(directory.path()));
  for (const std::string ns : {"", "shop", "shop.", ".orders", "sh op.x", "shop/.x", "a\"b.x", "a$.x", "shop..x", "shop.x.",
                               "shop.a$b", "shop.system.secret"}) {
    INFO(ns);
    CHECK(error_of([&] { store.catalog().create(ns, {}); }) == ErrorCode::invalid_namespace);
  }
  CHECK(error_of([&] { store.catalog().create(std::string(64, 'd') + ".x", {}); }) == ErrorCode::invalid_namespace);
  CHECK(error_of([&] { store.catalog().create(std::string(63, 'd') + ".x", {}); }) == ErrorCode::ok);
  CHECK(error_of([&] { store.catalog().create("shop." + std::string(251, 'c'), {}); }) == ErrorCode::invalid_namespace);
  CHECK(error_of([&] { store.catalog().create("shop." + std::string(250, 'c'), {}); }) == ErrorCode::ok);
  CHECK(error_of([&] { store.catalog().create(std::string("shop.a\0b", 8), {}); }) == ErrorCode::invalid_namespace);
  CHECK(error_of([&] { store.catalog().create("Shop.x", {}); }) == static_cast<ErrorCode>(13297));
  CHECK(error_of([&] { store.catalog().create("shop.system.views", {}); }) == ErrorCode::ok);
  CHECK(error_of([&] { store.catalog().rename("shop.system.views", "SHOP.x", false); }) == static_cast<ErrorCode>(13297));
}

TEST_CASE("a member's own collections don't keep the set from a database whose name differs in case") {
  TemporaryDirectory directory;
  Store store(test_options(directory.path()));
  Catalog& catalog = store.catalog();
  catalog.create("Shop.system.profile", {});
  CHECK(error_of([&] { catalog.create("shop.orders", {}); }) == ErrorCode::ok);
  CHECK(error_of([&] { catalog.create("Stock.system.profile", {}); }) == ErrorCode::ok);
  CHECK(error_of([&] { catalog.rename("shop.orders", "stock.orders", false); }) == ErrorCode::ok);
  CHECK(error_of([&] { catalog.create("STOCK.system.profile", {}); }) == static_cast<ErrorCode>(13297));
  CHECK(error_of([&] { catalog.create("Stock.orders", {}); }) == static_cast<ErrorCode>(13297));
}

TEST_CASE("indexes that are there already, nearly or wholly") {
  TemporaryDirectory directory;
  Store store(test_options(directory.path()));
  Catalog& catalog = store.catalog();
  const auto collection = catalog.create("shop.orders", {});
  const auto create = [&](const std::string& text) {
    return error_of([&] { catalog.create_indexes(collection, {spec(text)}); });
  };
  CHECK(create("{key: {a: 1}, name: 'a_1'}") == ErrorCode::ok);
  const auto again =
      catalog.create_indexes(collection, {spec("{key: {a: 1}, name: 'a_1'}"), spec("{key: {_id: 1}, name: 'other'}")});
  CHECK(again.before == 2);
  CHECK(again.after == 2);
  CHECK(create("{key: {b: 1}, name: 'a_1'}") == ErrorCode::index_key_specs_conflict);
  CHECK(create("{key: {a: 1}, name: 'a_1', unique: true}") == ErrorCode::index_key_specs_conflict);
  CHECK(create("{key: {a: 1}, name: 'a_1', expireAfterSeconds: 5}") == ErrorCode::index_options_conflict);
  CHECK(create("{key: {a: 1}, name: 'mine'}") == ErrorCode::index_options_conflict);
  CHECK(create("{key: {a: 1}, name: 'unique', unique: true}") == ErrorCode::ok);
  CHECK(create("{key: {a: -1}, name: 'a_-1'}") == ErrorCode::ok);
  CHECK(collection->indexes().size() == 4);
  CHECK(error_of([&] { catalog.drop_index(collection, "_id_"); }) == ErrorCode::invalid_options);
  CHECK(error_of([&] { catalog.drop_index(collection, "none"); }) == ErrorCode::index_not_found);
  catalog.drop_index(collection, "a_1");
  CHECK(create("{key: {a: 1}, name: 'a_1', hidden: true}") == ErrorCode::ok);
  catalog.alter_index(collection, spec("{key: {a: 1}, name: 'a_1', expireAfterSeconds: 60}"));
  CHECK(collection->index("a_1")->spec().expire_after_seconds == 60);
  CHECK_FALSE(collection->index("a_1")->spec().hidden);
  for (int i = 0; i < 60; ++i)
    CHECK(create("{key: {f" + std::to_string(i) + ": 1}, name: 'f" + std::to_string(i) + "'}") == ErrorCode::ok);
  CHECK(create("{key: {more: 1}, name: 'more'}") == ErrorCode::cannot_create_index);
}

TEST_CASE("how a collection is deduplicated changes as a whole, at once and for good") {
  TemporaryDirectory directory;
  {
    Store store(test_options(directory.path()));
    Catalog& catalog = store.catalog();
    CollectionOptions options;
    options.document = json("{capped: true, size: 4096, dedup: {enabled: false, key: 'a'}}");
    options.capped = true;
    options.capped_bytes = 4096;
    const auto collection = catalog.create("shop.orders", options);
    const CollectionOptions& held = collection->options();
    CHECK_FALSE(held.dedup.enabled);
    std::atomic<bool> stop = false;
    std::thread reading([&] {
      while (!stop) (void)collection->options().dedup.key.size();
    });
    for (int i = 0; i < 50; ++i)
      catalog.alter_options(collection, json("{dedup: {profile: 'archive', key: 'b" + std::to_string(i) + "'}}"));
    stop = true;
    reading.join();
    CHECK(held.dedup.key == "a");  // a holder of the old options keeps them
    CHECK(collection->options().dedup.enabled);
    CHECK(collection->options().dedup.key == "b49");
    catalog.drop("shop.orders");
    CHECK(error_of([&] { catalog.alter_options(collection, json("{dedup: {}}")); }) == ErrorCode::namespace_not_found);
    catalog.alter_options(catalog.create("shop.lists", options), json("{dedup: {profile: 'archive'}}"));
  }
  Store store(test_options(directory.path()));
  const auto collection = store.catalog().open("shop.lists");
  CHECK(collection->options().dedup.enabled);
  CHECK(collection->options().dedup.profile == "archive");
  CHECK(collection->options().capped);
  CHECK(bson::to_json(collection->options().document) ==
        bson::to_json(json("{capped: true, size: 4096, dedup: {profile: 'archive'}}")));
}

TEST_CASE("an index may be looked up while another thread changes the list") {
  TemporaryDirectory directory;
  Store store(test_options(directory.path()));
  Catalog& catalog = store.catalog();
  const auto collection = catalog.create("shop.orders", {});
  catalog.create_indexes(collection, {spec("{key: {a: 1}, name: 'a_1'}")});
  std::atomic<bool> stop = false;
  std::thread changing([&] {
    for (int i = 0; i < 300; ++i) {
      catalog.alter_index(collection, spec("{key: {a: 1}, name: 'a_1', expireAfterSeconds: " + std::to_string(i + 1) + "}"));
    }
    stop = true;
  });
  int missing = 0;
  while (!stop) missing += collection->index("a_1") == nullptr || collection->index("none") != nullptr;
  changing.join();
  CHECK(missing == 0);
}

TEST_CASE("an index that can't be built leaves nothing behind") {
  TemporaryDirectory directory;
  Store store(test_options(directory.path()));
  Catalog& catalog = store.catalog();
  const auto collection = catalog.create("shop.orders", {});
  in_transaction(store, [&](Transaction& t) {
    collection->insert(t, json("{_id: 1, a: 1, b: [1], c: [2]}"));
    collection->insert(t, json("{_id: 2, a: 1}"));
  });
  const auto tables = store.engine().table_names();
  CHECK(error_of([&] {
          catalog.create_indexes(collection, {spec("{key: {x: 1}, name: 'x'}"), spec("{key: {a: 1}, name: 'a', unique: true}")});
        }) == ErrorCode::duplicate_key);
  CHECK(error_of([&] { catalog.create_indexes(collection, {spec("{key: {b: 1, c: 1}, name: 'bc'}")}); }) ==
        static_cast<ErrorCode>(171));
  const auto stop = [] { throw base::OperationError(ErrorCode::interrupted, "operation was interrupted"); };
  CHECK(error_of([&] { catalog.create_indexes(collection, {spec("{key: {x: 1}, name: 'x'}")}, {.interrupted = stop}); }) ==
        ErrorCode::interrupted);
  CHECK(collection->indexes().size() == 1);
  CHECK(store.engine().table_names() == tables);
  CHECK(catalog.create_indexes(collection, {spec("{key: {x: 1}, name: 'x'}")}).after == 2);
  CHECK(validate_collection(store, collection, true).valid);
}

TEST_CASE("each change of the schema is logged within its transaction") {
  TemporaryDirectory directory;
  Store store(test_options(directory.path()));
  Log log;
  store.catalog().set_schema_sink(&log);
  const auto collection = store.catalog().open_or_create("shop.orders");
  store.catalog().create_indexes(collection, {spec("{key: {x: 1}, name: 'x'}")});
  store.catalog().alter_index(collection, spec("{key: {x: 1}, name: 'x', hidden: true}"));
  store.catalog().alter_options(collection, json("{dedup: {enabled: false}}"));
  store.catalog().drop_index(collection, "x");
  store.catalog().rename("shop.orders", "shop.old", false);
  store.catalog().create("shop.new", {});
  store.catalog().drop("shop.new");
  store.catalog().drop_database("shop");
  CHECK(log.lines == std::vector<std::string>{"shop create", "shop createIndexes", "shop collMod", "shop collMod",
                                              "shop dropIndexes", "shop renameCollection", "shop create", "shop drop",
                                              "shop drop", "shop dropDatabase"});
}

TEST_CASE("tables of what was dropped or never finished are gone after the next start") {
  TemporaryDirectory directory, copy;
  size_t tables = 0;
  {
    Store store(test_options(directory.path()));
    store.catalog().create("shop.keep", {});
    tables = store.engine().table_names().size();
    store.catalog().create("shop.gone", {});
    store.contents().page_compressors.add(77);  // before any table of a collection exists
    store.engine().open_table("records-77");
    store.engine().open_table("index-1-9");
    Transaction reader(store, Transaction::Mode::read);
    store.catalog().open("shop.gone")->scan(reader, Direction::forward)->next();
    store.catalog().drop("shop.gone");
    directory.copy_to(copy);
  }
  Store store(test_options(copy.path()));
  CHECK(store.engine().table_names().size() == tables);
  CHECK(names(store.catalog(), "shop") == std::vector<std::string>{"shop.keep"});
}

TEST_CASE("counts and timestamps are exact after the loss of the process") {
  TemporaryDirectory directory, copy;
  Store store(test_options(directory.path()));
  const auto collection = store.catalog().create("shop.orders", {});
  std::vector<std::thread> writers;
  for (int t = 0; t < 3; ++t) {
    writers.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        in_transaction(store, [&](Transaction& transaction) {
          const auto document = json("{_id: " + std::to_string(t * 1000 + i) + "}");
          const Stored stored = collection->insert(transaction, document);
          if (i % 5 == 0) collection->remove(transaction, stored.id, document);
        });
      }
    });
  }
  for (auto& writer : writers) writer.join();
  const Stamp last = store.engine().last_stamp();
  directory.copy_to(copy);
  Store second(test_options(copy.path()));
  const auto recovered = second.catalog().open("shop.orders");
  CHECK(recovered->record_count() == 120);
  CHECK(recovered->logical_bytes() == 120 * 14);
  CHECK(second.engine().last_stamp() + 1 >= last);  // the newest write may have been one that left no record
}

TEST_CASE("a capped collection keeps the newest within its bounds, indexes included") {
  TemporaryDirectory directory;
  Store store(test_options(directory.path()));
  CollectionOptions options;
  options.document = json("{capped: true, size: 2000, max: 10}");
  options.capped = true;
  options.capped_bytes = 2000;
  options.capped_records = 10;
  const auto collection = store.catalog().create("shop.log", options);
  const auto insert = [&](int id, size_t bytes) {
    in_transaction(store, [&](Transaction& t) {
      collection->insert(t, json("{_id: " + std::to_string(id) + ", pad: '" + std::string(bytes, 'x') + "'}"));
    });
  };
  for (int i = 0; i < 300; ++i) insert(i, 10);
  CHECK(collection->record_count() == 10);
  insert(1000, 1700);
  CHECK(collection->logical_bytes() <= 2000);
  insert(1001, 5000);
  CHECK(collection->record_count() == 1);
  CHECK(validate_collection(store, collection, false).valid);
  Transaction reader(store, Transaction::Mode::read);
  const auto scan = collection->scan(reader, Direction::forward);
  REQUIRE(scan->next());
  CHECK(scan->document()["_id"].to_int64() == 1001);
}

TEST_CASE("a scan whose place in a capped collection was overwritten says so") {
  TemporaryDirectory directory;
  Store store(test_options(directory.path()));
  CollectionOptions options;
  options.capped = true;
  options.capped_bytes = 100000;
  options.capped_records = 3;
  const auto collection = store.catalog().create("shop.log", options);
  const auto insert = [&](int id) {
    in_transaction(store, [&](Transaction& t) { collection->insert(t, json("{_id: " + std::to_string(id) + "}")); });
  };
  for (int i = 0; i < 3; ++i) insert(i);
  auto transaction = std::make_unique<Transaction>(store, Transaction::Mode::read);
  const auto scan = collection->scan(*transaction, Direction::forward);
  REQUIRE(scan->next());
  scan->save();
  for (int i = 3; i < 9; ++i) insert(i);
  transaction = std::make_unique<Transaction>(store, Transaction::Mode::read);
  CHECK(error_of([&] { scan->restore(*transaction); }) == ErrorCode::capped_position_lost);
}

TEST_CASE("a name whose collection is replaced is found all the time") {
  TemporaryDirectory directory;
  Store store(test_options(directory.path()));
  Catalog& catalog = store.catalog();
  const auto heir = catalog.create("shop.new", {});
  catalog.create("shop.orders", {});
  LooksUp observer(catalog, "shop.orders");
  auto& stored = dynamic_cast<StoredCatalog&>(catalog);
  stored.set_write_observer(&observer);
  catalog.rename("shop.new", "shop.orders", true);
  stored.set_write_observer(nullptr);
  REQUIRE(observer.found.size() == 1);
  CHECK(observer.found.front() == heir);
  CHECK(heir->ns() == "shop.orders");
  CHECK_FALSE(catalog.open("shop.new"));
}

TEST_CASE("what is interrupted after its commit is followed to its end") {
  TemporaryDirectory directory;
  const std::vector<std::string> left{"shop.e", "shop.f"};
  {
    Store store(options_of_a_small_cache(directory.path()));
    Catalog& catalog = store.catalog();
    store.past_catalog().make();  // from now on, what is dropped is looked for in the past
    for (const std::string name : {"a", "b", "c", "d", "f"}) {
      const auto collection = catalog.create("shop." + name, {});
      catalog.create_indexes(collection, {spec("{key: {x: 1}, name: 'x'}")});
    }
    catalog.create("gone.a", {});
    catalog.create("gone.b", {});
    FillsTheCache sink(store);
    catalog.set_schema_sink(&sink);
    const auto a = catalog.open("shop.a");
    sink.change([&] { CHECK(catalog.drop("shop.a")); });
    CHECK(a->dropped());
    const auto c = catalog.open("shop.c");
    sink.change([&] { catalog.rename("shop.b", "shop.c", true); });
    CHECK(c->dropped());
    CHECK_FALSE(catalog.open("shop.b"));
    sink.change([&] { catalog.rename("shop.c", "shop.e", false); });
    sink.change([&] { CHECK(catalog.drop_database("gone")); });
    sink.change([&] { CHECK(catalog.drop("shop.d")); });
    sink.change([&] { catalog.drop_index(catalog.open("shop.f"), "x"); });
    CHECK(catalog.open("shop.f")->indexes().size() == 1);
    CHECK(names(catalog, "shop") == left);
    CHECK(names(catalog, "gone").empty());
    catalog.set_schema_sink(nullptr);
  }
  Store store(options_of_a_small_cache(directory.path()));
  CHECK(names(store.catalog(), "shop") == left);
  CHECK(store.catalog().open("shop.f")->indexes().size() == 1);
}

TEST_CASE("an index whose build was interrupted leaves nothing to the next one") {
  TemporaryDirectory directory;
  Store store(options_of_a_small_cache(directory.path()));
  Catalog& catalog = store.catalog();
  const auto collection = catalog.create("shop.things", {});
  const Table table = store.engine().open_table("test-things");
  in_transaction(store.engine(), [&](Transaction& transaction) {
    for (int i = 0; i < 3000; ++i)
      collection->insert(transaction, json("{_id: " + std::to_string(i) + ", x: 1, y: " + std::to_string(i) + "}"));
  });
  {
    std::optional<FullCache> full;
    const base::Interrupted stop = [&] {
      if (full) throw Stop();
    };
    int asked = 0;
    // By the last time it is asked, the build has written and committed keys.
    const base::Interrupted fill = [&] {
      if (++asked < 5) return;
      if (!full) full.emplace(store.engine(), table);
      throw Stop();
    };
    const InterruptibleWaits waits(&stop);
    CHECK_THROWS_AS(catalog.create_indexes(collection, {spec("{key: {x: 1}, name: 'first'}")}, {.interrupted = fill}), Stop);
  }
  CHECK(collection->indexes().size() == 1);
  catalog.create_indexes(collection, {spec("{key: {y: 1}, name: 'second', unique: true}")});
  CHECK(validate_collection(store, collection, false).valid);
}
