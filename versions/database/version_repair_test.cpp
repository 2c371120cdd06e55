// These tests repair collections with versions: `_id` entries that are missing or lead nowhere, records that nothing names, and
// trees that lost nodes.
#include <algorithm>
#include <catch2/catch.hpp>

#include "base/random.h"
#include "bson/json.h"
#include "storage/collections/stored_collection.h"
#include "storage/contents/record_store_state.h"
#include "storage/upkeep/repair.h"
#include "versions/database/test_shop.h"

using namespace versions;
using bson::json;

namespace {

const BranchedDatabase::Lost lost = [](Transaction&, storage::CollectionId, RecordId, Stamp, BytesView) {};

// Documents 1 to 3 are older than the first branch. On dev 1 is changed and 4 added, both committed; on main 5 is added and
// pending.
struct Damaged : test::Shop {
  Damaged() {
    for (int id = 1; id <= 3; ++id) first[id] = insert("shop.things", id);
    begin();
    create_dev();
    const auto dev = Shop::store.catalog().open("shop@dev.things");
    changed = storage::in_transaction(Shop::store, [&](Transaction& transaction) {
      return dev->update(transaction, first[1], *dev->find(transaction, first[1], nullptr), json("{_id: 1, text: 'changed'}"))
          .record;
    });
    added = insert("shop@dev.things", 4);
    commit("dev");
    pending = insert("shop.things", 5);
  }

  RecordId insert(const std::string& ns, int id) {
    const auto collection = Shop::store.catalog().open(ns);
    return storage::in_transaction(Shop::store, [&](Transaction& transaction) {
      return collection
          ->insert(transaction, json("{_id: " + std::to_string(id) + ", text: 'of document " + std::to_string(id) + "'}"))
          .id;
    });
  }
  CommitNumber commit(const std::string& branch) { return Shop::commit(branch)->number; }

  const storage::StoredIndex& id_index() { return *dynamic_cast<storage::StoredCollection&>(*things).stored_indexes()->front(); }
  storage::Table keys() { return storage::Table(store().table_names().front()); }
  BranchStore& store() { return database->branches().store(0); }
  static Bytes key_of(int id) { return versions::key_of(json("{_id: " + std::to_string(id) + "}").bytes()); }
  static Bytes entry(int id, RecordId record) {
    Bytes key = key_of(id);
    base::append_be64(key, static_cast<uint64_t>(record));
    return key;
  }
  void lose(RecordId record) {
    change([&](Transaction& transaction) {
      const storage::StoreTables& tables = things->records().state().chains.tables();
      tables.records.remove(transaction, storage::record_key(record));
      tables.packed.remove(transaction, storage::record_key(record));
      tables.heads.remove(transaction, storage::record_key(record));
    });
  }

  storage::RepairReport repair() { return Shop::repair(things); }
  std::map<int, RecordId> found(const std::string& ns) {
    Transaction transaction(Shop::store, Transaction::Mode::read);
    const auto collection = Shop::store.catalog().open(ns);
    std::map<int, RecordId> all;
    for (int id = 1; id <= 5; ++id) {
      bson::Builder wanted;
      wanted.append("_id", id);
      const bson::Document document = wanted.done();
      if (const auto record = collection->find_id(transaction, document["_id"])) all[id] = *record;
    }
    CHECK(collection->record_count() == static_cast<int64_t>(all.size()));
    return all;
  }
  bool proves(CommitNumber commit) {
    Transaction transaction(Shop::store, Transaction::Mode::read);
    return database->verify(transaction, commit, true, 10, {}).damaged == 0;
  }

  // Removes each row of the trees for which `gone` says so, and returns how many they were.
  size_t lose_nodes(const std::function<bool(size_t)>& gone) {
    const storage::Table nodes(database->branches().roots().table_name());
    std::vector<Bytes> keys;
    {
      Transaction transaction(Shop::store, Transaction::Mode::read);
      storage::TableCursor cursor = nodes.cursor(transaction);
      for (size_t met = 0; cursor.next(); ++met) {
        if (gone(met)) keys.emplace_back(cursor.key());
      }
    }
    change([&](Transaction& transaction) {
      for (const Bytes& key : keys) nodes.remove(transaction, key);
    });
    return keys.size();
  }

  std::map<int, RecordId> first;
  RecordId changed = 0, added = 0, pending = 0;
};

}  // namespace

TEST_CASE("repair makes missing entries of _id, each with the commit that its version came with") {
  Damaged shop;
  shop.change([&](Transaction& transaction) {
    shop.id_index().remove(transaction, Damaged::key_of(2), shop.first[2]);
    shop.keys().remove(transaction, Damaged::entry(1, shop.changed));
    shop.keys().remove(transaction, Damaged::entry(5, shop.pending));
  });
  const auto report = shop.repair();
  CHECK(report.after.valid);
  CHECK(report.inserted_keys == 3);
  CHECK(report.removed_keys + report.removed_records + report.moved_documents == 0);
  CHECK(shop.found("shop.things") ==
        std::map<int, RecordId>{{1, shop.first[1]}, {2, shop.first[2]}, {3, shop.first[3]}, {5, shop.pending}});
  CHECK(shop.found("shop@dev.things") ==
        std::map<int, RecordId>{{1, shop.changed}, {2, shop.first[2]}, {3, shop.first[3]}, {4, shop.added}});
  Transaction transaction(shop.Shop::store, Transaction::Mode::read);
  CHECK(shop.store().history(transaction, Damaged::key_of(1)).front().commit ==
        shop.database->branch(transaction, {.name = "dev"}).head);
  CHECK(shop.store().history(transaction, Damaged::key_of(5)).front().commit == 0);
}

TEST_CASE("repair removes entries of _id that lead to another document") {
  Damaged shop;
  shop.change([&](Transaction& transaction) { shop.keys().put(transaction, Damaged::entry(3, shop.added), Bytes(1, '\0')); });
  const auto report = shop.repair();
  CHECK(report.after.valid);
  CHECK(report.removed_keys == 1);
  CHECK(shop.found("shop@dev.things").contains(4));
  CHECK(shop.proves(shop.commit("main")));
}

TEST_CASE("what a damaged directory has lost of a branch is gone from its commits' documents, and commits go on") {
  Damaged shop;
  for (const RecordId record : {shop.added, shop.pending, shop.first[3]}) shop.lose(record);
  const auto report = shop.repair();
  CHECK(report.after.valid);
  CHECK(report.removed_keys == 3);
  CHECK(shop.found("shop.things") == std::map<int, RecordId>{{1, shop.first[1]}, {2, shop.first[2]}});
  CHECK(shop.found("shop@dev.things") == std::map<int, RecordId>{{1, shop.changed}, {2, shop.first[2]}});
  const RecordId again = shop.insert("shop@dev.things", 4);
  for (const char* branch : {"main", "dev"}) CHECK(shop.proves(shop.commit(branch)));
  CHECK(shop.found("shop@dev.things")[4] == again);
}

TEST_CASE("a record whose row and entry are lost is gone where it was shown, and counts say so") {
  Damaged shop;
  for (const RecordId record : {shop.added, shop.pending, shop.first[1], shop.first[3]}) shop.lose(record);
  shop.change([&](Transaction& transaction) {
    shop.keys().remove(transaction, Damaged::entry(4, shop.added));
    shop.keys().remove(transaction, Damaged::entry(5, shop.pending));
    for (const int id : {1, 3}) shop.id_index().remove(transaction, Damaged::key_of(id), shop.first[id]);
  });
  const auto report = shop.repair();
  CHECK(report.after.valid);
  CHECK(report.took_away);
  // All states show the third of the first ones, and dev doesn't show the first any more.
  CHECK(report.lost.size() == 3);
  const auto unknown = [](const std::string& warning) { return warning.starts_with("Lost: 1 documents from before the first"); };
  CHECK(std::count_if(report.warnings.begin(), report.warnings.end(), unknown) == 1);
  CHECK(shop.found("shop.things") == std::map<int, RecordId>{{2, shop.first[2]}});
  CHECK(shop.found("shop@dev.things") == std::map<int, RecordId>{{1, shop.changed}, {2, shop.first[2]}});
  const auto again = shop.repair();
  CHECK(again.lost.empty());
  CHECK(!again.took_away);
  for (const int id : {1, 3, 4, 5}) shop.insert("shop.things", id);
  shop.insert("shop@dev.things", 4);
  CHECK(shop.proves(shop.commit("main")));
  CHECK(shop.found("shop.things").size() == 5);
  // The tree of dev's last commit names the third one, so those behind it do too.
  const CommitNumber commit = shop.commit("dev");
  Transaction transaction(shop.Shop::store, Transaction::Mode::read);
  const auto verified = shop.database->verify(transaction, commit, true, 10, {});
  REQUIRE(verified.damaged == 1);
  CHECK(verified.damage.front().key == Damaged::key_of(3));
}

TEST_CASE("repair finds nothing missing where RecordIds were free before the first branch, and after history has gone") {
  test::Shop shop;
  base::Random random(7);
  const auto some = [&](const std::string& ns, int writes) {
    for (int i = 0; i < writes; ++i) {
      const auto id = random.below(40);
      const std::string text = "of " + ns + std::to_string(id % 7);
      shop.write(ns, json("{_id: " + std::to_string(id) + ", text: '" + text + "'}"), random.below(3) == 0);
    }
  };
  const auto check = [&] {
    const auto report = shop.repair(shop.things);
    CHECK(report.after.valid);
    CHECK(!report.repaired());
    CHECK(!report.took_away);
    CHECK(report.warnings.empty());
  };
  some("shop.things", 100);
  shop.begin();
  check();
  shop.create_dev();
  for (int round = 0; round < 6; ++round) {
    for (const char* branch : {"main", "dev"}) {
      some(branch == std::string("main") ? "shop.things" : "shop@dev.things", 20);
      check();
      shop.commit(branch);
    }
    check();
  }
  shop.change([&](Transaction& transaction) { shop.database->sweep(transaction, {.newest = 1}, 100, lost); });
  check();
  shop.change([&](Transaction& transaction) { shop.database->purge(transaction, "things", json("{_id: 3}")["_id"], lost); });
  check();
}

TEST_CASE("repair makes the trees of commits again from what the commits show") {
  Damaged shop;
  std::vector<CommitNumber> commits{shop.commit("main")};
  for (int round = 0; round < 3; ++round) {
    for (int id = 10; id < 400; ++id) shop.insert("shop@dev.things", 1000 * round + id);
    commits.push_back(shop.commit("dev"));
  }
  const bool all = GENERATE(true, false);
  const size_t each = GENERATE(1, 2, 5);
  if (all && each > 1) return;
  REQUIRE(shop.lose_nodes([&](size_t met) { return all || met % each == 0; }) > 0);
  for (const CommitNumber commit : commits) CHECK_FALSE(shop.proves(commit));
  const auto report = shop.repair();
  CHECK(report.after.valid);
  CHECK(report.made_trees > 0);
  CHECK(!report.took_away);
  for (const CommitNumber commit : commits) CHECK(shop.proves(commit));
  CHECK(shop.repair().made_trees == 0);
  shop.insert("shop@dev.things", 5);
  CHECK(shop.proves(shop.commit("dev")));
}

namespace {

// The same for a collection in whose `_id`s case doesn't count: "ann" is older than the first branch, "bob" is of dev.
struct DamagedNames : test::Shop {
  DamagedNames() {
    storage::CollectionOptions options;
    options.document = json("{collation: {locale: 'en', strength: 2}}");
    storage::read_option_document(options);
    names = Shop::store.catalog().create("shop.names", options);
    first = insert("shop.names", "ann");
    begin();
    create_dev();
    added = insert("shop@dev.names", "bob");
  }

  RecordId insert(const std::string& ns, const std::string& name) {
    const auto collection = Shop::store.catalog().open(ns);
    return storage::in_transaction(
        Shop::store, [&](Transaction& transaction) { return collection->insert(transaction, json("{_id: '" + name + "'}")).id; });
  }
  std::optional<RecordId> find(const std::string& ns, const std::string& name) {
    Transaction transaction(Shop::store, Transaction::Mode::read);
    return Shop::store.catalog().open(ns)->find_id(transaction, json("{_id: '" + name + "'}")["_id"]);
  }
  const storage::StoredIndex& ids() { return *dynamic_cast<storage::StoredCollection&>(*names).stored_indexes()->front(); }
  Bytes collated(const std::string& name) {
    storage::IndexKeys keys;
    ids().keys_of(json("{_id: '" + name + "'}"), keys);
    return keys.keys.front();
  }
  storage::Table keys() { return storage::Table(database->versions_of(names->id())->store.table_names().front()); }
  static Bytes entry(const std::string& name, RecordId record) {
    Bytes key = versions::key_of(json("{_id: '" + name + "'}").bytes());
    base::append_be64(key, static_cast<uint64_t>(record));
    return key;
  }
  storage::RepairReport repair() { return Shop::repair(names); }

  std::shared_ptr<storage::Collection> names;
  RecordId first = 0, added = 0;
};

}  // namespace

TEST_CASE("repair makes missing entries under a collation, of the index and of the branches") {
  DamagedNames shop;
  CHECK(shop.find("shop@dev.names", "BOB") == shop.added);
  shop.change([&](Transaction& transaction) {
    shop.ids().remove(transaction, shop.collated("ann"), shop.first);
    shop.ids().remove_version(transaction, shop.collated("bob"), shop.added);
    shop.keys().remove(transaction, DamagedNames::entry("bob", shop.added));
  });
  CHECK(!shop.find("shop@dev.names", "BOB"));
  const auto report = shop.repair();
  CHECK(report.after.valid);
  CHECK(report.inserted_keys == 2);
  CHECK(shop.find("shop.names", "ANN") == shop.first);
  CHECK(shop.find("shop@dev.names", "BOB") == shop.added);
  Transaction transaction(shop.Shop::store, Transaction::Mode::read);
  CHECK(shop.keys().get(transaction, DamagedNames::entry("bob", shop.added)));
}

TEST_CASE("repair lets branches go on without a document whose _id a sort key doesn't say") {
  DamagedNames shop;
  shop.change([&](Transaction& transaction) {
    const storage::StoreTables& tables = shop.names->records().state().chains.tables();
    tables.records.remove(transaction, storage::record_key(shop.added));
    tables.packed.remove(transaction, storage::record_key(shop.added));
    tables.heads.remove(transaction, storage::record_key(shop.added));
  });
  const auto report = shop.repair();
  CHECK(report.after.valid);
  CHECK(report.removed_keys == 1);
  CHECK(!shop.find("shop@dev.names", "bob"));
  CHECK(shop.insert("shop@dev.names", "Bob") != shop.added);
}
