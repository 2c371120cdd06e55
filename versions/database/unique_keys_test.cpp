// These tests make unique indexes while there are branches, and compare random histories with plain maps, also with others at
// work.
#include "versions/database/unique_keys.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>
#include <thread>

#include "base/random.h"
#include "base/testing.h"
#include "bson/json.h"
#include "storage/background/dedup_service.h"
#include "storage/collections/stored_collection.h"
#include "storage/indexes/duplicate_key.h"
#include "storage/store.h"
#include "storage/upkeep/repair.h"
#include "storage/upkeep/validate.h"
#include "versions/database/test_shop.h"

using namespace versions;
using base::ErrorCode;
using base::OperationError;
using bson::json;
using storage::Collection;

namespace {

using Values = std::set<int>;             // the values of the field `v`: none, one, or an array of several
using Documents = std::map<int, Values>;  // by _id

const BranchedDatabase::Lost lost = [](Transaction&, storage::CollectionId, RecordId, Stamp, BytesView) {};

bson::Document document(int id, const Values& values) {
  bson::Builder builder;
  builder.append("_id", id).append("text", std::string(50, 'x'));
  if (values.size() == 1) builder.append("v", *values.begin());
  if (values.size() > 1) {
    auto array = builder.array("v");
    for (const int value : values) array.append(value);
  }
  return builder.done();
}

void put_into(Documents& documents, bson::DocumentView found) {
  Values& values = documents[found["_id"].as_int32()];
  if (found["v"].is_number()) values.insert(found["v"].as_int32());
  if (!found["v"].is_array()) return;
  for (const auto& value : found["v"].as_document()) values.insert(value.as_int32());
}

class History {
 public:
  explicit History(uint64_t seed) : random_(seed), directory_(std::make_unique<storage::TemporaryDirectory>()) {
    open();
    store_->catalog().create("shop.things", {});
    heads_["main"];
    for (int i = 0; i < 5; ++i) write();
    databases_->find_or_begin("shop", {});
    committed_["main"] = heads_["main"];
    Transaction transaction(*store_, Transaction::Mode::read);
    commits_[id_of(transaction, database().branch(transaction, {.name = "main"}).head)] = heads_["main"];
  }

  void step() {
    const uint64_t dice = random_.below(100);
    if (dice < 55) return write();
    if (dice < 67) return commit();
    if (dice < 73) return create();
    if (dice < 78) return reset();
    if (dice < 84) return merge();
    if (dice < 92) return index_ ? drop_index() : make_index();
    if (dice < 94) return reopen();
    check();
  }

  void check() {
    Transaction transaction(*store_, Transaction::Mode::read);
    for (const auto& [name, documents] : heads_) check_one(transaction, *collection(name), documents);
    for (const auto& [id, documents] : commits_) check_one(transaction, *collection(id.substr(0, 20)), documents);
    const auto report = storage::validate_collection(*store_, collection("main"), false);
    for (const std::string& error : report.errors) FAIL_CHECK(error);
    for (const std::string& warning : report.warnings) FAIL_CHECK(warning);
  }

  int made = 0, refused = 0, heads_refused = 0, conflicts = 0;  // what happened in the history

 private:
  void open() {
    store_.emplace(storage::test_options(directory_->path()));
    past_.emplace(*store_);
    databases_.emplace(*store_, *past_);
    quiet_ = store_->dedup().hold();
  }
  void reopen() {
    auto copy = std::make_unique<storage::TemporaryDirectory>();
    const bool crash = random_.below(2) == 0;
    if (crash) directory_->copy_to(*copy);
    quiet_ = {};
    databases_.reset();
    past_.reset();
    store_.reset();
    if (crash) directory_ = std::move(copy);
    open();
  }

  BranchedDatabase& database() { return *databases_->find("shop"); }
  std::shared_ptr<Collection> collection(const std::string& ref) {
    const auto found = store_->catalog().open(ref == "main" ? "shop.things" : "shop@" + ref + ".things");
    REQUIRE(found);
    return found;
  }
  std::string id_of(Transaction& transaction, CommitNumber commit) {
    return base::to_hex(view(database().branches().graph().commit(transaction, commit)->id));
  }
  template <class Map>
  typename Map::const_iterator any(const Map& map) {
    return std::next(map.begin(), static_cast<long>(random_.below(map.size())));
  }

  // The keys that the index has of a document: a missing value counts as one, -1, unless the index is sparse.
  Values keys_of(const Values& values) const { return values.empty() && !sparse_ ? Values{-1} : values; }
  bool unique(const Documents& documents) const {
    Values all;
    for (const auto& [id, values] : documents) {
      for (const int key : keys_of(values)) {
        if (!all.insert(key).second) return false;
      }
    }
    return true;
  }
  bool fits(Documents documents, int id, const Values& values) const {
    if (!index_) return true;
    documents[id] = values;
    return unique(documents);
  }

  void write() {
    const std::string name = heads_.size() == 1 ? "main" : any(heads_)->first;
    const auto things = collection(name);
    Documents& head = heads_[name];
    const int id = static_cast<int>(random_.below(10));
    Values values;
    for (uint64_t count = random_.below(8); count > 0 && values.size() < 2; --count)
      values.insert(static_cast<int>(random_.below(150)));
    const bool remove = head.contains(id) && random_.below(2) == 0;
    const bool may = remove || fits(head, id, values);
    storage::in_transaction(*store_, [&](Transaction& transaction) {
      const auto record = things->find_id(transaction, document(id, {})["_id"]);
      REQUIRE(record.has_value() == head.contains(id));
      try {
        if (remove)
          things->remove(transaction, *record, *things->find(transaction, *record));
        else if (record)
          things->update(transaction, *record, *things->find(transaction, *record), document(id, values));
        else
          things->insert(transaction, document(id, values));
        CHECK(may);
      } catch (const storage::DuplicateKey&) {
        CHECK_FALSE(may);
      }
    });
    if (!may) return;
    if (remove)
      head.erase(id);
    else
      head[id] = values;
  }

  void commit() { commit(any(heads_)->first); }
  void commit(const std::string& name) {
    storage::in_transaction(*store_, [&](Transaction& transaction) {
      const auto made = database().commit(transaction, name, {});
      CHECK((made || heads_[name] == committed_[name]));
      if (made) commits_[base::to_hex(view(made->id))] = heads_[name];
    });
    committed_[name] = heads_[name];
  }

  // Runs `work`, which must be refused if a branch would show `documents` and these break the index.
  bool shows(const Documents& documents, const std::function<void(Transaction&)>& work) {
    const bool may = !index_ || unique(documents);
    try {
      storage::in_transaction(*store_, work);
      CHECK(may);
    } catch (const storage::DuplicateKey& error) {
      CHECK_FALSE(may);
      CHECK(std::string(error.what()).starts_with("E11000 duplicate key error collection: shop@"));
      ++heads_refused;
    }
    return may;
  }

  void create() {
    if (heads_.size() > 3) return drop();
    const std::string name = "b" + std::to_string(next_++);
    const bool old = random_.below(2) == 0;
    const auto& [from, documents] = old ? *any(commits_) : *any(committed_);
    if (!shows(documents, [&](Transaction& transaction) { database().create(transaction, name, {.name = from}); })) return;
    const Documents copy = documents;
    heads_[name] = committed_[name] = copy;
  }

  void drop() {
    const std::string name = any(heads_)->first;
    if (name == "main") return;
    storage::in_transaction(*store_, [&](Transaction& transaction) { database().drop(transaction, name, lost); });
    database().forget_views(name);
    heads_.erase(name);
    committed_.erase(name);
  }

  void reset() {
    const std::string name = any(heads_)->first;
    const bool old = random_.below(2) == 0;
    const auto [to, documents] = old ? *any(commits_) : *any(committed_);
    if (!shows(documents, [&](Transaction& transaction) { database().reset(transaction, name, {.name = to}, lost); })) return;
    heads_[name] = committed_[name] = documents;
  }

  // Afterwards the keys are unique where they must be; documents that would break the index are conflicts that say so.
  void merge() {
    const std::string into = any(heads_)->first, from = any(heads_)->first;
    commit(into);
    Transaction transaction(*store_, Transaction::Mode::write);
    const auto merge = database().merge(
        transaction, into, {.from = database().branch(transaction, {.name = from}).head, .resolve = fields(Prefer::theirs)}, {});
    for (const auto& conflict : merge.conflicts) CHECK((index_ && conflict.index == "v"));
    if (!merge.conflicts.empty()) {
      ++conflicts;
      return;
    }
    transaction.commit();
    Transaction reader(*store_, Transaction::Mode::read);
    Documents now;
    const auto scan = collection(into)->scan(reader, storage::Direction::forward);
    while (scan->next()) put_into(now, scan->document());
    CHECK((!index_ || unique(now)));
    heads_[into] = committed_[into] = now;
    if (merge.commit) commits_[base::to_hex(view(merge.commit->id))] = now;
  }

  void make_index() {
    const std::string asked = any(heads_)->first;
    sparse_ = random_.below(6) > 0;
    const bool may = std::all_of(heads_.begin(), heads_.end(), [&](const auto& one) { return unique(one.second); });
    try {
      store_->catalog().create_indexes(
          collection(asked), {storage::parse_index_spec(json(sparse_ ? "{key: {v: 1}, name: 'v', unique: true, sparse: true}"
                                                                     : "{key: {v: 1}, name: 'v', unique: true}"))});
      CHECK(may);
      index_ = true;
      ++made;
    } catch (const storage::DuplicateKey& error) {
      CHECK_FALSE(may);
      ++refused;
      // The error names a branch that shows two such documents: the one that was asked, if it does.
      const std::string what = error.what(), begins = "E11000 duplicate key error collection: ";
      const std::string ns = what.substr(begins.size(), what.find(" index: ") - begins.size());
      const std::string named = ns == "shop.things" ? "main" : ns.substr(5, ns.size() - 12);
      CHECK_FALSE(unique(heads_.at(named)));
      CHECK((named == asked || unique(heads_.at(asked))));
      CHECK(collection("main")->indexes().size() == 1);
    }
  }
  void drop_index() {
    store_->catalog().drop_index(collection(any(heads_)->first), "v");
    index_ = false;
  }

  void check_one(Transaction& transaction, Collection& things, const Documents& expected) {
    Documents found;
    const auto scan = things.scan(transaction, storage::Direction::forward);
    while (scan->next()) put_into(found, scan->document());
    CHECK(found == expected);
    CHECK(things.record_count() == static_cast<int64_t>(expected.size()));
    const auto index = things.index("v");
    CHECK((index != nullptr) == index_);
    if (!index) return;
    Documents by_index, indexed;
    size_t entries = 0, keys = 0;
    const auto cursor = things.scan(transaction, *index, storage::Direction::forward);
    cursor->seek({});
    for (; cursor->next(); ++entries) put_into(by_index, *things.find(transaction, cursor->record()));
    for (const auto& [id, values] : expected) {
      keys += keys_of(values).size();
      if (!keys_of(values).empty()) indexed[id] = values;
    }
    CHECK(by_index == indexed);
    CHECK(entries == keys);
  }

  base::Random random_;
  std::unique_ptr<storage::TemporaryDirectory> directory_;
  std::optional<storage::Store> store_;
  std::optional<past::Past> past_;
  std::optional<Databases> databases_;
  std::unique_lock<std::mutex> quiet_;  // rows that the background moves would conflict now and then
  std::map<std::string, Documents> heads_, committed_, commits_;
  bool index_ = false, sparse_ = false;
  int next_ = 0;
};

}  // namespace

TEST_CASE("a unique index may be made at any time, and then holds on every branch, whatever old commits show") {
  base::Random seeds(base::testing::seed());
  int made = 0, refused = 0, heads_refused = 0, conflicts = 0;
  // Some of these are rare: in one of ten runs of twelve histories, no branch is refused for what its commit shows.
  const auto all = [&] { return made > 0 && refused > 0 && heads_refused > 0 && conflicts > 0; };
  for (int run = 0; run < 12 || (!all() && run < 100); ++run) {
    History history(seeds());
    for (int step = 0; step < 250; ++step) history.step();
    history.check();
    made += history.made, refused += history.refused, heads_refused += history.heads_refused, conflicts += history.conflicts;
  }
  INFO(made << " made, " << refused << " refused, " << heads_refused << " heads refused, " << conflicts << " conflicts");
  CHECK(all());
}

TEST_CASE("indexes come and go beside writers, commits, merges and sweeps, and have every entry and no other") {
  test::Shop all;
  storage::Store& store = all.store;
  all.begin();
  all.create_dev();
  const auto things = all.things;
  const auto shop = all.database;
  std::atomic<bool> over{false};
  std::atomic<int> time{1}, unexpected{0};
  const auto tried = [&](const std::function<void()>& work) {
    try {
      work();
    } catch (const OperationError& error) {
      if (error.code() != ErrorCode::duplicate_key && error.code() != ErrorCode::illegal_operation)
        unexpected = static_cast<int>(error.code());
    }
  };
  const auto write = [&](const std::string& ns, uint64_t seed) {
    base::Random random(seed);
    const auto into = store.catalog().open(ns);
    while (!over) {
      const int id = static_cast<int>(random.below(200)), value = static_cast<int>(random.below(300));
      std::this_thread::sleep_for(std::chrono::milliseconds(1));  // a thread that only waits for the lock gets it in between
      const std::shared_lock schema(into->schema_mutex());
      tried([&] {
        storage::in_transaction(store, [&](Transaction& transaction) {
          const auto record = into->find_id(transaction, document(id, {})["_id"]);
          if (!record)
            into->insert(transaction, document(id, {value}));
          else if (value % 3 == 0)
            into->remove(transaction, *record, *into->find(transaction, *record));
          else
            into->update(transaction, *record, *into->find(transaction, *record), document(id, {value}));
        });
      });
    }
  };
  const auto commit = [&](Transaction& transaction, const std::string& branch) {
    shop->commit(transaction, branch, {.time_ms = time++, .metadata = {}});
  };
  const auto merge_both_ways = [&] {
    for (bool there = true; !over; there = !there) {
      const std::string into = there ? "main" : "dev", from = there ? "dev" : "main";
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      const auto indexes = shop->keep_indexes();
      tried([&] {
        storage::in_transaction(store, [&](Transaction& transaction) { commit(transaction, into), commit(transaction, from); });
        storage::in_transaction(store, [&](Transaction& transaction) {
          const auto merge = shop->merge(
              transaction, into, {.from = shop->branch(transaction, {.name = from}).head, .resolve = fields(Prefer::theirs)},
              {.time_ms = time++, .metadata = {}});
          if (!merge.conflicts.empty()) throw OperationError(ErrorCode::illegal_operation, "conflicts");
        });
        storage::in_transaction(store, [&](Transaction& transaction) { shop->sweep(transaction, {.newest = 3}, 4, lost); });
      });
    }
  };
  std::vector<std::thread> threads;
  threads.emplace_back(write, "shop.things", 1);
  threads.emplace_back(write, "shop@dev.things", 2);
  threads.emplace_back(merge_both_ways);
  base::Random random(base::testing::seed());
  for (int round = 0; round < 20; ++round) {
    const bool unique = random.below(2) == 0;
    const std::string text = std::string("{key: {v: 1}, name: 'v', ") + (unique ? "unique: true}" : "sparse: true}");
    tried([&] { store.catalog().create_indexes(things, {storage::parse_index_spec(json(text))}); });
    const auto report = storage::validate_collection(store, things, false);
    for (const std::string& error : report.errors) FAIL_CHECK(error);
    if (things->index("v")) store.catalog().drop_index(things, "v");
  }
  over = true;
  for (std::thread& one : threads) one.join();
  CHECK(unexpected == 0);
}

TEST_CASE("repair puts right what branches have under one key of a unique index, and takes no document away") {
  test::Shop shop;
  storage::Store& store = shop.store;
  const auto things = shop.things;
  store.catalog().create_indexes(things, {storage::parse_index_spec(json("{key: {v: 1}, name: 'v', unique: true}"))});
  const auto insert = [&](const std::string& ns, int id, int value) {
    return storage::in_transaction(
        store, [&](Transaction& transaction) { return store.catalog().open(ns)->insert(transaction, document(id, {value})).id; });
  };
  const RecordId first = insert("shop.things", 1, 1);
  shop.begin();
  shop.create_dev();
  const auto dev = store.catalog().open("shop@dev.things");
  shop.change([&](Transaction& transaction) { dev->remove(transaction, first, *dev->find(transaction, first)); });
  const RecordId second = insert("shop@dev.things", 2, 1), third = insert("shop.things", 3, 3),
                 fourth = insert("shop@dev.things", 4, 3);

  const auto index = dynamic_cast<storage::StoredCollection&>(*things).stored_indexes()->back();
  const auto key_of = [&](int value) {
    storage::IndexKeys keys;
    index->keys_of(document(0, {value}), keys);
    return keys.keys.front();
  };
  storage::in_transaction(store, [&](Transaction& transaction) {
    SECTION("nothing is missing") {}
    SECTION("entries are missing") {
      index->remove(transaction, key_of(1), first);
      for (const RecordId record : {third, fourth}) index->remove_version(transaction, key_of(3), record);
    }
    SECTION("those of one branch are missing") {
      index->remove_version(transaction, key_of(1), second);
    }
    index->add_version(transaction, key_of(1), third);
  });
  CHECK(storage::validate_collection(store, things, false).errors.size() > 0);
  const auto report = shop.repair(things);
  CHECK(report.after.errors.empty());
  CHECK(report.removed_keys == 1);
  CHECK(report.moved_documents + report.removed_records == 0);
  for (const auto& [collection, records] :
       {std::pair{things, std::set{first, third}}, std::pair{dev, std::set{second, fourth}}}) {
    Transaction transaction(store, Transaction::Mode::read);
    const auto scan = collection->scan(transaction, *collection->index("v"), storage::Direction::forward);
    scan->seek({});
    std::set<RecordId> found;
    while (scan->next()) found.insert(scan->record());
    CHECK(found == records);
  }
}

TEST_CASE("a branch that begins with nothing is at odds with no unique index, whatever its commit shows") {
  test::Shop shop;
  const auto things = shop.things;
  const auto insert = [&](int id) {
    return storage::in_transaction(shop.store,
                                   [&](Transaction& transaction) { return things->insert(transaction, document(id, {1})).id; });
  };
  insert(1);
  const RecordId twice = insert(2);
  shop.begin();
  shop.change([&](Transaction& transaction) { things->remove(transaction, twice, *things->find(transaction, twice, nullptr)); });
  const auto index = storage::parse_index_spec(json("{key: {v: 1}, name: 'v', unique: true}"));
  SECTION("made before the index") {
    shop.change([&](Transaction& transaction) { shop.database->create_empty(transaction, "aside", {.name = "main"}); });
    shop.store.catalog().create_indexes(things, {index});
  }
  SECTION("made behind it") {
    shop.store.catalog().create_indexes(things, {index});
    CHECK_THROWS_AS(shop.create_dev(), storage::DuplicateKey);
    shop.change([&](Transaction& transaction) { shop.database->create_empty(transaction, "aside", {.name = "main"}); });
  }
  Transaction transaction(shop.store, Transaction::Mode::read);
  const Branch aside = shop.database->branch(transaction, {.name = "aside"});
  CHECK_FALSE(shop.database->has(transaction, {aside, aside.head}, things->id()));
}
