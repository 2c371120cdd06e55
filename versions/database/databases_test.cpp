// These tests open collections of branches by the catalog, and compare random histories with plain maps, restarts and crashes
// included.
#include "versions/database/databases.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "base/random.h"
#include "base/testing.h"
#include "bson/json.h"
#include "storage/background/dedup_service.h"
#include "storage/engine/interruptible_waits.h"
#include "storage/engine/names.h"
#include "storage/store.h"
#include "storage/upkeep/validate.h"
#include "versions/database/test_shop.h"

using namespace versions;
using storage::Collection;
using storage::Direction;

namespace {

using Documents = std::map<int, std::pair<int, int>>;  // _id -> a, u

// The documents that a branch, tag or commit has of the collection.
struct Shown {
  Documents documents = {};
  bool there = true;  // otherwise it isn't listed
  bool operator==(const Shown&) const = default;
};

void nobody_asks(Transaction&, storage::CollectionId, RecordId, Stamp, BytesView) {}

bson::Document document(int id, int a, int u) {
  bson::Builder builder;
  builder.append("_id", id).append("a", a).append("u", u).append("text", std::string(50, static_cast<char>('a' + a)));
  return builder.done();
}

void put_into(Documents& documents, bson::DocumentView found) {
  const auto [at, is_new] = documents.emplace(found["_id"].as_int32(), std::pair{found["a"].as_int32(), found["u"].as_int32()});
  CHECK(is_new);
}

class History {
 public:
  explicit History(uint64_t seed) : random_(seed), directory_(std::make_unique<storage::TemporaryDirectory>()) {
    open();
    store_->catalog().create("shop.things", {});
    store_->catalog().create_indexes(collection("main"),
                                     {storage::parse_index_spec(bson::json("{key: {a: 1}, name: 'a'}")),
                                      storage::parse_index_spec(bson::json("{key: {u: 1}, name: 'u', unique: true}"))});
    heads_["main"];
    for (uint64_t left = random_.below(2) * 10; left > 0; --left) write();
    databases_->find_or_begin("shop", {});
    committed_["main"] = heads_["main"];
  }

  void step() {
    const uint64_t dice = random_.below(100);
    if (dice < 66) return write();
    if (dice < 76) return commit();
    if (dice < 82) return create();
    if (dice < 84) return drop();
    if (dice < 86) return reset();
    if (dice < 90) return drop_collection();
    if (dice < 91) return make_collection();
    if (dice < 94) return reopen(random_.below(2) == 0);
    check();
  }

  void check() {
    Transaction transaction(*store_, Transaction::Mode::read);
    for (const auto& [name, shown] : heads_) check_one(transaction, name, shown);
    for (const auto& [id, shown] : commits_) check_one(transaction, id.substr(0, 20), shown);
    const auto report = storage::validate_collection(*store_, collection("main"), false);
    for (const std::string& error : report.errors) FAIL_CHECK(error);
    for (const std::string& warning : report.warnings) FAIL_CHECK(warning);
  }

 private:
  void open() {
    storage::StoreOptions options = storage::test_options(directory_->path());
    store_.emplace(options);
    past_.emplace(*store_);
    databases_.emplace(*store_, *past_);
    quiet_ = store_->dedup().hold();
  }

  void reopen(bool crash) {
    auto copy = std::make_unique<storage::TemporaryDirectory>();
    if (crash) directory_->copy_to(*copy);
    quiet_ = {};
    databases_.reset();
    past_.reset();
    store_.reset();
    if (crash) directory_ = std::move(copy);
    open();
  }

  BranchedDatabase& database() { return *databases_->find("shop"); }
  static std::string ns(const std::string& ref) { return ref == "main" ? "shop.things" : "shop@" + ref + ".things"; }
  std::shared_ptr<Collection> collection(const std::string& ref) {
    const auto found = store_->catalog().open(ns(ref));
    REQUIRE(found);
    return found;
  }
  std::string branch() {
    auto at = heads_.begin();
    std::advance(at, static_cast<long>(random_.below(heads_.size())));
    return at->first;
  }

  void write() {
    const std::string name = branch();
    const auto things = collection(name);
    Documents& head = heads_[name].documents;
    const int id = static_cast<int>(random_.below(30)), a = static_cast<int>(random_.below(4)),
              u = static_cast<int>(random_.below(40));
    const bool taken =
        std::any_of(head.begin(), head.end(), [&](const auto& one) { return one.first != id && one.second.second == u; });
    const bson::Document after = document(id, a, u);
    const bool remove = random_.below(3) == 0, keep = random_.below(10) == 0;
    bool refused = false;
    {
      Transaction transaction(*store_, Transaction::Mode::write);
      const auto record = things->find_id(transaction, after["_id"]);
      CHECK(record.has_value() == head.contains(id));
      try {
        if (!record)
          things->insert(transaction, after);
        else if (remove)
          things->remove(transaction, *record, *things->find(transaction, *record));
        else
          things->update(transaction, *record, *things->find(transaction, *record), after);
      } catch (const base::OperationError& error) {
        CHECK(error.code() == base::ErrorCode::duplicate_key);
        refused = true;
      }
      if (keep)
        transaction.rollback();
      else
        transaction.commit();
    }
    CHECK(refused == (taken && !(head.contains(id) && remove)));
    if (refused || keep) return;
    if (head.contains(id) && remove) {
      head.erase(id);
    } else {
      head[id] = {a, u};
      heads_[name].there = true;
    }
  }

  void drop_collection() {
    const std::string name = branch();
    CHECK(store_->catalog().drop(ns(name)) == heads_[name].there);
    heads_[name] = {.there = false};
  }

  void make_collection() {
    const std::string name = branch();
    if (heads_[name].there)
      CHECK_THROWS_AS(store_->catalog().create(ns(name), {}), base::OperationError);
    else
      store_->catalog().create(ns(name), {});
    heads_[name].there = true;
  }

  void reset() {
    if (commits_.empty()) return;
    auto at = commits_.begin();
    std::advance(at, static_cast<long>(random_.below(commits_.size())));
    const std::string name = branch();
    storage::in_transaction(
        *store_, [&](Transaction& transaction) { database().reset(transaction, name, {.name = at->first}, nobody_asks); });
    heads_[name] = committed_[name] = at->second;
  }

  void commit() {
    const std::string name = branch();
    storage::in_transaction(*store_, [&](Transaction& transaction) {
      const auto made = database().commit(transaction, name, {});
      CHECK((made || heads_[name] == committed_[name]));
      if (made) commits_[base::to_hex(view(made->id))] = heads_[name];
    });
    committed_[name] = heads_[name];
  }

  void create() {
    const std::string name = "b" + std::to_string(next_++), from = branch();
    storage::in_transaction(*store_, [&](Transaction& transaction) { database().create(transaction, name, {.name = from}); });
    heads_[name] = committed_[name] = committed_[from];
  }

  void drop() {
    const std::string name = branch();
    if (name == "main") return;
    storage::in_transaction(*store_, [&](Transaction& transaction) { database().drop(transaction, name, nobody_asks); });
    database().forget_views(name);
    heads_.erase(name);
    committed_.erase(name);
  }

  void check_one(Transaction& transaction, const std::string& ref, const Shown& shown) {
    const Documents& expected = shown.documents;
    const auto opened = collection(ref);
    Collection& things = *opened;
    CHECK((store_->catalog().find(ns(ref)) != nullptr) == shown.there);
    CHECK(store_->catalog().found(storage::database_of(ns(ref))).size() == (shown.there ? 1 : 0));
    for (const Direction direction : {Direction::forward, Direction::backward}) {
      Documents found;
      const auto scan = things.scan(transaction, direction);
      while (scan->next()) put_into(found, scan->document());
      CHECK(found == expected);
      for (const auto& index : things.indexes()) {
        Documents by_index;
        Bytes last;
        const auto cursor = things.scan(transaction, *index, direction);
        cursor->seek({});
        while (cursor->next()) {
          if (!last.empty())
            CHECK((direction == Direction::forward ? BytesView(last) <= cursor->key() : BytesView(last) >= cursor->key()));
          last = cursor->key();
          put_into(by_index, *things.find(transaction, cursor->record()));
        }
        CHECK(by_index == expected);
      }
    }
    CHECK(things.record_count() == static_cast<int64_t>(expected.size()));
    for (int id = 0; id < 30; ++id)
      CHECK(things.find_id(transaction, document(id, 0, 0)["_id"]).has_value() == expected.contains(id));
  }

  base::Random random_;
  std::unique_ptr<storage::TemporaryDirectory> directory_;
  std::optional<storage::Store> store_;
  std::optional<past::Past> past_;
  std::optional<Databases> databases_;
  std::unique_lock<std::mutex> quiet_;  // rows that the background moves would conflict now and then
  std::map<std::string, Shown> heads_, committed_, commits_;
  int next_ = 0;
};

}  // namespace

TEST_CASE("collections of branches read as maps do, by every index, over restarts and crashes") {
  base::Random seeds(base::testing::seed());
  for (int run = 0; run < 6; ++run) {
    History history(seeds());
    for (int step = 0; step < 120; ++step) history.step();
    history.check();
  }
}

TEST_CASE("two transactions that want one unique key of a branch conflict, and those of two branches don't") {
  test::Shop shop;
  storage::Store& store = shop.store;
  const auto things = shop.things;
  store.catalog().create_indexes(things, {storage::parse_index_spec(bson::json("{key: {u: 1}, name: 'u', unique: true}"))});
  shop.begin();
  shop.create_dev();
  const auto dev = store.catalog().open("shop@dev.things");
  Transaction a(store, Transaction::Mode::write), b(store, Transaction::Mode::write), c(store, Transaction::Mode::write);
  dev->insert(a, document(1, 0, 7));
  things->insert(b, document(2, 0, 7));
  CHECK_THROWS_AS(dev->insert(c, document(3, 0, 7)), storage::WriteConflict);
  c.rollback();
  a.commit();
  b.commit();
  Transaction later(store, Transaction::Mode::write);
  CHECK_THROWS_AS(dev->insert(later, document(3, 0, 7)), base::OperationError);
  dev->insert(later, document(3, 0, 8));  // the transaction goes on
  later.commit();
  CHECK(dev->record_count() == 2);
  CHECK(things->record_count() == 1);
}

namespace {

// A database with a branch: both have `sold`, and a document of it is changed on dev.
struct Shop : test::Shop {
  // `removed`: how many documents were removed before the branch was made.
  explicit Shop(int removed = 0) : test::Shop("sold") {
    change([&](Transaction& transaction) {
      std::vector<std::pair<storage::RecordId, bson::Document>> others;
      for (int id = 100; id < 100 + removed; ++id) {
        const bson::Document other = document(id, 0, id);
        others.emplace_back(things->insert(transaction, other).id, other);
      }
      for (int id = 1; id <= 3; ++id) things->insert(transaction, document(id, 0, id));
      for (const auto& [record, other] : others) things->remove(transaction, record, other);
    });
    begin();
    create_dev();
  }
  void put(const std::string& ns, int id, int a) {
    const auto things = store.catalog().open_or_create(ns);
    change([&](Transaction& transaction) {
      const bson::Document after = document(id, a, id);
      const auto record = things->find_id(transaction, after["_id"]);
      if (record)
        things->update(transaction, *record, *things->find(transaction, *record), after);
      else
        things->insert(transaction, after);
    });
  }
  CommitNumber commit(const std::string& branch) {
    CommitNumber number = 0;
    change([&](Transaction& transaction) {
      const auto made = database->commit(transaction, branch, {});
      number = made ? made->number : 0;
    });
    return number;
  }
  // If there are conflicts, nothing is merged.
  size_t apply(Branches::MergeKind kind, const std::string& into, CommitNumber from) {
    Transaction transaction(store, Transaction::Mode::write);
    const auto merge = database->merge(transaction, into, {.kind = kind, .from = from, .resolve = resolver(MergeRules{})}, {});
    if (merge.conflicts.empty()) transaction.commit();
    return merge.conflicts.size();
  }
  size_t merge(const std::string& into, const std::string& from) {
    CommitNumber head = 0;
    change([&](Transaction& transaction) { head = database->place(transaction, {.name = from}).commit; });
    return apply(Branches::MergeKind::merge, into, head);
  }
  bool there(const std::string& ns) { return store.catalog().find(ns) != nullptr; }
  int64_t count(const std::string& ns) { return store.catalog().open(ns)->record_count(); }
};

}  // namespace

TEST_CASE("a collection that is dropped on a branch is gone there, and by a merge elsewhere") {
  Shop shop(GENERATE(0, 10));
  CHECK(shop.store.catalog().drop("shop@dev.sold"));
  CHECK_FALSE(shop.store.catalog().drop("shop@dev.sold"));
  CHECK_FALSE(shop.there("shop@dev.sold"));
  CHECK(shop.count("shop@dev.sold") == 0);
  CHECK(shop.there("shop.sold"));
  CHECK(shop.count("shop.sold") == 3);
  shop.commit("dev");
  CHECK(shop.commit("dev") == 0);
  CHECK_FALSE(shop.there("shop@dev.sold"));
  CHECK(shop.there("shop@dev~1.sold"));
  CHECK(shop.merge("main", "dev") == 0);
  CHECK_FALSE(shop.there("shop.sold"));
  CHECK(shop.count("shop.sold") == 0);
  CHECK(shop.count("shop@main~1.sold") == 3);
  // A document is inserted again, and the collection goes the same way.
  shop.put("shop@dev.sold", 7, 1);
  CHECK(shop.there("shop@dev.sold"));
  shop.commit("dev");
  CHECK(shop.merge("main", "dev") == 0);
  CHECK(shop.there("shop.sold"));
  CHECK(shop.count("shop.sold") == 1);
}

TEST_CASE(
    "documents of a collection that was made anew are counted after a merge, whatever was removed before there were branches") {
  Shop shop(10);
  CHECK(shop.count("shop.sold") == 3);
  CHECK(shop.store.catalog().drop("shop@dev.sold"));
  shop.commit("dev");
  shop.put("shop@dev.sold", 7, 1);
  shop.put("shop@dev.sold", 8, 1);
  shop.commit("dev");
  CHECK(shop.count("shop@dev.sold") == 2);
  SECTION("where it was as it is dropped") {
    CHECK(shop.merge("main", "dev") == 0);
    CHECK(shop.count("shop.sold") == 2);
    CHECK(shop.count("shop@main~1.sold") == 3);
  }
  SECTION("beside what is new there") {
    shop.put("shop.sold", 4, 1);
    shop.commit("main");
    CHECK(shop.merge("main", "dev") == 0);
    CHECK(shop.count("shop.sold") == 3);
    CHECK(shop.merge("dev", "main") == 0);
    CHECK(shop.count("shop@dev.sold") == 3);
  }
}

TEST_CASE("dropping is removing all documents, where others change some") {
  Shop shop;
  shop.store.catalog().drop("shop@dev.sold");
  const CommitNumber dropped = shop.commit("dev");
  SECTION("one that was changed is a conflict") {
    shop.put("shop.sold", 2, 5);
    shop.commit("main");
    CHECK(shop.merge("main", "dev") == 1);
    CHECK(shop.count("shop.sold") == 3);
  }
  SECTION("one that is new stays, and the collection for it") {
    shop.put("shop.sold", 9, 5);
    shop.commit("main");
    CHECK(shop.merge("main", "dev") == 0);
    CHECK(shop.there("shop.sold"));
    CHECK(shop.count("shop.sold") == 1);
  }
  SECTION("it can be taken back") {
    CHECK(shop.apply(Branches::MergeKind::revert, "dev", dropped) == 0);
    CHECK(shop.there("shop@dev.sold"));
    CHECK(shop.count("shop@dev.sold") == 3);
  }
  SECTION("a collection that has no documents is picked, too") {
    shop.store.catalog().create("shop@dev.empty", {});
    const CommitNumber made = shop.commit("dev");
    CHECK_FALSE(shop.there("shop.empty"));
    CHECK(shop.apply(Branches::MergeKind::cherry_pick, "main", made) == 0);
    CHECK(shop.there("shop.empty"));
    CHECK(shop.there("shop.sold"));
    CHECK(shop.apply(Branches::MergeKind::revert, "main", made) == 0);
    CHECK_FALSE(shop.there("shop.empty"));
  }
}

TEST_CASE("a collection that no branch and no commit has any more leaves no table") {
  Shop shop;
  shop.put("shop@dev.new", 1, 1);
  const auto id = shop.store.catalog().open("shop@dev.new")->id();
  const auto tables = [&] {
    const std::vector<std::string> names = shop.store.engine().table_names();
    return std::count_if(names.begin(), names.end(),
                         [&](const std::string& name) { return name.find("-" + std::to_string(id) + "-") != name.npos; });
  };
  CHECK(tables() > 0);
  CHECK_FALSE(shop.store.catalog().drop_unowned("shop.new"));
  CHECK_FALSE(shop.store.catalog().drop("shop.new"));  // main doesn't have it
  SECTION("at once, where no commit has it") {
    CHECK(shop.store.catalog().drop("shop@dev.new"));
  }
  SECTION("when its commits have gone, with those of branches that went on without it") {
    shop.commit("dev");
    CHECK(shop.store.catalog().drop("shop@dev.new"));
    CHECK_FALSE(shop.store.catalog().drop_unowned("shop.new"));
    shop.commit("dev");
    shop.change([&](Transaction& transaction) {
      CHECK(shop.database->sweep(transaction, Retention{.newest = 1}, 10, nobody_asks).commits > 0);
    });
    CHECK(shop.store.catalog().drop_unowned("shop.new"));
  }
  SECTION("and not while commits arrive, which may have it") {
    auto arriving = shop.database->keep_unnamed(nullptr);
    CHECK_FALSE(shop.database->drop_unnamed());
    CHECK(shop.store.catalog().drop("shop@dev.new"));
    CHECK_FALSE(shop.there("shop@dev.new"));
    CHECK_FALSE(shop.store.catalog().drop_unowned("shop.new"));
    CHECK(shop.store.catalog().open("shop.new"));
    arriving.unlock();
    CHECK(shop.store.catalog().drop_unowned("shop.new"));
  }
  CHECK_FALSE(shop.store.catalog().open("shop@dev.new"));
  CHECK(base::testing::wait_until([&] { return tables() == 0; }));
  shop.put("shop@dev.new", 1, 1);
  CHECK(shop.count("shop@dev.new") == 1);
  CHECK_FALSE(shop.there("shop.new"));
}

TEST_CASE("nothing of a collection that is gone stays in memory, but for those who hold a view of it") {
  Shop shop;
  shop.put("shop@dev.new", 1, 1);
  auto held = shop.store.catalog().open("shop@dev.new");
  const std::weak_ptr<SharedCollection> versions = shop.database->versions_of(held->id());
  CHECK(shop.store.catalog().drop("shop@dev.new"));
  CHECK(held->dropped());
  CHECK(shop.database->versions_of(held->id()) == nullptr);
  CHECK_FALSE(versions.expired());
  held.reset();
  CHECK(base::testing::wait_until([&] { return versions.expired(); }));
}

TEST_CASE("a branch and a tag can't take one name at the same time") {
  test::Shop shop;
  shop.begin();
  const auto database = shop.database;
  shop.change([&](Transaction& transaction) {
    shop.things->insert(transaction, document(1, 0, 7));
    database->commit(transaction, "main", {});
  });
  Transaction a(shop.store, Transaction::Mode::write), b(shop.store, Transaction::Mode::write);
  database->create(a, "v1", parse_ref("main~1"));
  database->create_tag(b, "v2", parse_ref("main"));
  CHECK_THROWS_AS(database->create_tag(b, "v1", parse_ref("main")), storage::WriteConflict);
}

TEST_CASE("a view that was opened while its branch was dropped is not that of the next branch of the name") {
  test::Shop shop;
  storage::Store& store = shop.store;
  shop.begin();
  const auto database = shop.database;
  shop.create_dev();
  Transaction before(store, Transaction::Mode::read);
  database->place(before, {.name = "dev"});
  shop.change([&](Transaction& transaction) { database->drop(transaction, "dev", nobody_asks); });
  database->forget_views("dev");
  database->view(before, {.name = "dev"}, "shop@dev.things", std::dynamic_pointer_cast<storage::StoredCollection>(shop.things));
  shop.create_dev();
  Transaction transaction(store, Transaction::Mode::write);
  store.catalog().open("shop@dev.things")->insert(transaction, document(1, 0, 7));
  transaction.commit();
  CHECK(store.catalog().open("shop@dev.things")->record_count() == 1);
}

TEST_CASE("views that nobody holds or asked for lately are forgotten, and a holder of one learns that its branch is gone") {
  test::Shop shop;
  shop.begin();
  KnownViews views(10);
  const auto name = [](int i) { return "b" + std::to_string(i); };
  const auto add = [&](int i) {  // a view of a state, which the database itself doesn't keep
    return views.add(name(i), name(i), std::dynamic_pointer_cast<CollectionView>(shop.store.catalog().open("shop@main~0.things")),
                     [] { return true; });
  };
  const auto held = add(0);
  const std::weak_ptr<Collection> first = add(1), asked_for = add(2);
  for (int i = 3; i < 30; ++i) {
    add(i);
    CHECK(views.find(name(2)));
  }
  CHECK(first.expired());
  CHECK_FALSE(views.find(name(1)));
  CHECK_FALSE(asked_for.expired());
  CHECK(views.find(name(0)) == held);
  views.drop(name(0));
  CHECK(held->dropped());
  CHECK_FALSE(views.find(name(0)));
  CHECK(views.add("gone", "gone", held, [] { return false; }) == held);
  CHECK_FALSE(views.find("gone"));
}

TEST_CASE("a database without branches has no table of them") {
  test::Shop shop;
  CHECK_FALSE(shop.things->moves());
  for (const std::string& table : shop.store.engine().table_names()) CHECK_FALSE(table.starts_with("versions-"));
  CHECK_THROWS_AS(shop.store.catalog().open("shop@dev.things"), base::OperationError);
}

TEST_CASE("a write of a document that is purged at the same time conflicts, without branches too") {
  for (const bool there : {true, false}) {
    for (const bool purge_first : {true, false}) {
      test::Shop shop;
      const bson::Document one = document(1, 0, 7);
      if (there) shop.change([&](Transaction& transaction) { shop.things->insert(transaction, one); });
      Transaction writer(shop.store, Transaction::Mode::write);
      const auto write = [&] {
        if (there)
          shop.things->update(writer, *shop.things->find_id(writer, one["_id"]), one, document(1, 1, 7));
        else
          shop.things->insert(writer, one);
      };
      uint64_t purged = 0;
      const auto purge = [&] {
        shop.databases.purge("shop", "things", one["_id"], nobody_asks, [&](const auto& work) {
          Transaction transaction(shop.store, Transaction::Mode::write);
          purged = work(transaction);
          if (purge_first) CHECK_THROWS_AS(write(), storage::WriteConflict);
          transaction.commit();
          return purged;
        });
      };
      if (!purge_first) write();
      if (purge_first) {
        purge();
        CHECK(purged == (there ? 1u : 0u));
      } else {
        CHECK_THROWS_AS(purge(), storage::WriteConflict);
      }
      writer.rollback();
    }
  }
}

TEST_CASE("the name of a database in a snapshot means nothing else, whatever branches and tags are called") {
  test::Shop shop;
  const auto put = [&](const std::string& db, int id) {
    shop.change(
        [&](Transaction& transaction) { shop.store.catalog().open(db + ".things")->insert(transaction, document(id, 1, id)); });
  };
  const auto shown = [&](const std::string& db) {
    const auto things = shop.store.catalog().open(db + ".things");
    Transaction transaction(shop.store, Transaction::Mode::read);
    std::set<int> ids;
    for (const auto scan = things->scan(transaction, Direction::forward); scan->next();)
      ids.insert(scan->document()["_id"].as_int32());
    return ids;
  };
  shop.past.make();
  put("shop", 1);
  const auto before = shop.databases.declare_snapshot("", nullptr);
  shop.begin();
  shop.create_dev();
  put("shop", 2);
  put("shop@dev", 3);
  const auto after = shop.databases.declare_snapshot("", nullptr);
  CHECK(shown("shop@" + before.text()) == std::set{1});
  const std::string branch = before.text(), tag = after.text();
  shop.change([&](Transaction& transaction) { shop.database->create(transaction, branch, parse_ref("main")); });
  shop.change([&](Transaction& transaction) { shop.database->create_tag(transaction, tag, parse_ref("main")); });
  put("shop@" + branch, 4);
  CHECK(shown("shop@" + branch) == std::set{1, 4});
  CHECK(shown("shop@" + tag) == std::set{1});
  CHECK(shown(name_in_snapshot("shop", before.number)) == std::set{1});
  CHECK(shown(name_in_snapshot("shop", after.number)) == std::set{1, 2});
  CHECK(shown(name_in_snapshot("shop@dev", after.number)) == std::set{1, 3});
}

TEST_CASE("a cursor over a branch can be interrupted while it passes over what others show") {
  constexpr int documents = 3'000;
  struct Interrupted {};
  test::Shop shop;
  shop.store.catalog().create_indexes(shop.things, {storage::parse_index_spec(bson::json("{key: {a: 1}, name: 'a'}"))});
  shop.begin();
  shop.create_dev();
  const auto dev = shop.store.catalog().open("shop@dev.things"), main = shop.store.catalog().open("shop@main.things");
  for (int begin = 0; begin < documents; begin += 500) {
    shop.change([&](Transaction& transaction) {
      for (int id = begin; id < begin + 500; ++id) dev->insert(transaction, document(id, 1, id));
    });
  }
  Transaction transaction(shop.store, Transaction::Mode::read);
  const auto backward = main->scan(transaction, Direction::backward);
  const auto by_a = main->scan(transaction, *main->index("a"), Direction::forward);
  by_a->seek({});
  const base::Interrupted stop = [] { throw Interrupted(); };
  const storage::InterruptibleWaits waits(&stop);
  CHECK_THROWS_AS(backward->next(), Interrupted);
  CHECK_THROWS_AS(by_a->next(), Interrupted);
}

TEST_CASE("names of states are read, and refused where they can't be any") {
  CHECK(split_name("shop").ref == std::nullopt);
  CHECK(split_name("shop@dev~2").database == "shop");
  CHECK(*split_name("shop@dev~2").ref == "dev~2");
  const Ref ref = parse_ref("a%2Fb%2Ec~~3^2");
  CHECK(ref.name == "a/b.c");
  REQUIRE(ref.steps.size() == 3);
  CHECK((ref.steps[0].kind == '~' && ref.steps[0].count == 1));
  CHECK((ref.steps[1].kind == '~' && ref.steps[1].count == 3));
  CHECK((ref.steps[2].kind == '^' && ref.steps[2].count == 2));
  CHECK(escaped("a/b.c") == "a%2Fb%2Ec");
  CHECK(looks_like_commit("3f9a2c1b"));
  CHECK_FALSE(looks_like_commit("3f9a2c1"));
  CHECK_FALSE(looks_like_commit("3f9a2c1x"));
  for (const char* bad : {"", "~1", "a b", "a~x", "a~1x", "%2", "%zz", "a~99999999999", "-a", ".a", "a*b"}) {
    INFO(bad);
    CHECK_THROWS_AS(parse_ref(bad), base::OperationError);
  }
  CHECK_THROWS_AS(check_branch_name("deadbeef"), base::OperationError);
  for (const char* snapshot : {"s1", "s42", "20261120T101500Z"}) {
    INFO(snapshot);
    CHECK_NOTHROW(check_branch_name(snapshot));
    CHECK_THROWS_AS(check_new_name(snapshot), base::OperationError);
  }
  for (const char* good : {"s", "s0", "s1x", "v1", "2026"}) CHECK_NOTHROW(check_new_name(good));
}

TEST_CASE("a transaction that removes a branch's newest records and is rolled back doesn't free their numbers") {
  const storage::TemporaryDirectory directory;
  const auto insert = [](storage::Store& store, const char* text) {
    const auto dev = store.catalog().open("shop@dev.things");
    return storage::in_transaction(store,
                                   [&](Transaction& transaction) { return dev->insert(transaction, bson::json(text)).id; });
  };
  RecordId second = 0, third = 0;
  {
    storage::Store store(storage::test_options(directory.path()));
    past::Past past(store);
    Databases databases(store, past);
    store.catalog().create("shop.things", {});
    const auto database = databases.find_or_begin("shop", {}).database;
    storage::in_transaction(store, [&](Transaction& transaction) { database->create(transaction, "dev", {.name = "main"}); });
    insert(store, "{_id: 1}");
    second = insert(store, "{_id: 2}");
    third = insert(store, "{_id: 3}");
  }
  // Now the numbers are read from the tables.
  storage::Store store(storage::test_options(directory.path()));
  past::Past past(store);
  const Databases databases(store, past);
  const auto dev = store.catalog().open("shop@dev.things");
  {
    Transaction transaction(store, Transaction::Mode::write);
    for (const RecordId record : {second, third}) dev->remove(transaction, record, *dev->find(transaction, record));
    dev->insert(transaction, bson::json("{_id: 4}"));
    transaction.rollback();
  }
  CHECK(insert(store, "{_id: 5}") > third);
  Transaction transaction(store, Transaction::Mode::read);
  CHECK(bson::to_json(*dev->find(transaction, third)) == bson::to_json(bson::json("{_id: 3}")));
}
