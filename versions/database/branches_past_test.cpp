// These tests compare branches, as declared snapshots show them, with a model that copies everything at each snapshot.
#include "versions/database/branches_past.h"

#include <catch2/catch.hpp>

#include "base/random.h"
#include "base/testing.h"
#include "bson/json.h"
#include "storage/background/dedup_service.h"
#include "storage/collections/stored_collection.h"
#include "storage/testing/temporary_store.h"
#include "storage/testing/test_support.h"
#include "storage/upkeep/validate.h"
#include "versions/database/databases.h"

using namespace versions;
using past::DeclaredSnapshot;
using storage::Collection;
using storage::Direction;
using storage::Store;

namespace {

using Documents = std::map<int, std::pair<int, std::string>>;  // _id -> a, text
struct Things {
  bool there = true;  // the branch has the collection
  Documents documents = {};
  bool operator==(const Things&) const = default;
};
using Branches = std::map<std::string, Things>;

constexpr int ids = 16;

bson::Document document(int id, const std::pair<int, std::string>& content) {
  bson::Builder builder;
  builder.append("_id", id).append("a", content.first).append("text", content.second);
  return builder.done();
}

class History {
 public:
  explicit History(uint64_t seed) : random_(seed), directory_(std::make_unique<storage::TemporaryDirectory>()) {
    open();
    make_collection();
  }

  void step() {
    switch (random_.below(100)) {
      case 0: return reopen(false);
      case 1: return reopen(true);
      case 2:
      case 3:
      case 4:
      case 5:
      case 6:
      case 7: return declare();
      case 8:
      case 9: return drop_snapshot();
      case 10: past_->seal(); return;
      case 11: databases_->sweep_snapshots(nullptr); return;
      case 12: return store_->dedup().drain();
      case 13: return change_index();
      case 14:
      case 15: return sweep();
      case 16: return purge();
      case 17:
      case 18: return reset();
      case 19:
      case 20: return drop();
      case 21:
      case 22:
      case 23: return create();
      case 24: return rename();
      case 25: return merge();
      case 32:
      case 33: return drop_collection();
      case 34: return drop_database();
      case 26:
      case 27:
      case 28:
      case 29:
      case 30:
      case 31: return commit();
      default: return write();
    }
  }

  void check() {
    for (const auto& [number, then] : snapshots_) {
      for (const auto& [branch, things] : then) {
        check_view("shop@" + branch + "@s" + std::to_string(number) + ".things", things);
        if (branch == "main") check_view("shop@s" + std::to_string(number) + ".things", things);
      }
      CHECK_THROWS_AS(store_->catalog().open("shop@none@s" + std::to_string(number) + ".things"), base::OperationError);
    }
    for (const auto& [branch, things] : heads_) check_view(ns_of(branch), things);
    if (!store_->catalog().open("shop.things")) return;  // nobody has the collection any more
    storage::test::require_clean(*store_, *collection("main"));
    const auto report = storage::validate_collection(*store_, collection("main"), false);
    for (const std::string& error : report.errors) FAIL_CHECK(error);
    for (const std::string& warning : report.warnings) FAIL_CHECK(warning);
  }

  void drop_all() {
    while (!snapshots_.empty()) drop_snapshot();
    databases_->sweep_snapshots(nullptr);
    const auto tables = store_->engine().table_names();
    for (const char* table : {"past-rows", "past-chains", "past-entries", "past-catalog", "past-states", "past-purged"}) {
      if (std::find(tables.begin(), tables.end(), table) == tables.end()) continue;
      INFO(table);
      Transaction transaction(*store_, Transaction::Mode::read);
      CHECK_FALSE(storage::Table(table).cursor(transaction).next());
    }
    check_tables();
    check();
  }

  size_t saved = 0, dropped_databases = 0;

 private:
  void open() {
    store_.emplace(storage::test_options(directory_->path()));
    past_.emplace(*store_);
    databases_.emplace(*store_, *past_);
  }
  void reopen(bool crash) {
    saved += past_->saved();
    const Stamp last = store_->engine().last_stamp();
    auto copy = std::make_unique<storage::TemporaryDirectory>();
    if (crash) {
      store_->engine().wait_durable();
      directory_->copy_to(*copy);
    }
    databases_.reset();
    past_.reset();
    store_.reset();
    if (crash) directory_ = std::move(copy);
    open();
    store_->engine().raise_stamp(last);  // as the log does
  }

  // Dropped collections that no snapshot shows must have left no tables.
  void check_tables() {
    std::set<std::string> due{"versions-databases"};
    if (branched()) {
      for (const std::string& table : database().table_names()) due.insert(table);
    }
    const auto things = std::dynamic_pointer_cast<storage::StoredCollection>(store_->catalog().open("shop.things"));
    const std::string own = things ? std::to_string(things->id()) : std::string("none");
    for (const std::string& table : store_->engine().table_names()) {
      INFO(table);
      if (table.starts_with("versions-")) CHECK(due.contains(table));
      for (const std::string kind : {"records-", "packed-", "heads-", "chains-", "index-"}) {
        if (table.starts_with(kind)) CHECK((table == kind + own || table.starts_with(kind + own + "-")));
      }
    }
  }

  void make_collection() {
    store_->catalog().create("shop.things", {});
    heads_["main"];
    change_index();
  }
  BranchedDatabase& database() { return *databases_->find("shop"); }
  bool branched() { return databases_->find("shop") != nullptr; }
  static std::string ns_of(const std::string& branch) { return branch == "main" ? "shop.things" : "shop@" + branch + ".things"; }
  std::shared_ptr<Collection> collection(const std::string& branch) {
    const auto found = store_->catalog().open(ns_of(branch));
    REQUIRE(found);
    return found;
  }
  std::string any_branch() { return std::next(heads_.begin(), static_cast<long>(random_.below(heads_.size())))->first; }
  std::string other_branch() {
    const std::string name = any_branch();
    return branched() && name != "main" ? name : std::string();
  }

  void declare() {
    newest_ = databases_->declare_snapshot({}, nullptr).number;
    snapshots_[newest_] = heads_;
  }
  void drop_snapshot() {
    if (snapshots_.empty()) return;
    const auto one = std::next(snapshots_.begin(), static_cast<long>(random_.below(snapshots_.size())));
    REQUIRE(databases_->drop_snapshot(one->first));
    snapshots_.erase(one);
  }
  void change_index() {
    if (!store_->catalog().open("shop.things")) return;
    const auto things = collection("main");
    if (things->index("a")) return store_->catalog().drop_index(things, "a");
    store_->catalog().create_indexes(things, {storage::parse_index_spec(bson::json("{key: {a: 1}, name: 'a'}"))});
  }

  // Runs `work` again if the background moved the same rows.
  template <class Work>
  void change(Work&& work) {
    storage::in_transaction(*store_, work);
  }
  static void lost(Transaction&, storage::CollectionId, RecordId, Stamp, BytesView) {}

  // One transaction over some documents of a branch; one in eight is rolled back.
  void write() {
    const std::string name = any_branch();
    const auto things = store_->catalog().open_or_create(ns_of(name));
    heads_[name].there = true;
    Documents after = heads_[name].documents;
    try {
      Transaction transaction(*store_, Transaction::Mode::write);
      transaction.expect_stamps(8);
      for (uint64_t left = 1 + random_.below(4); left > 0; --left) {
        const int id = static_cast<int>(random_.below(ids));
        const bson::Document key = document(id, {});
        const auto record = things->find_id(transaction, key["_id"]);
        REQUIRE(record.has_value() == after.contains(id));
        if (record && random_.below(3) == 0) {
          transaction.set_next_stamp(transaction.next_stamp());  // as the log has it
          things->remove(transaction, *record, *things->find(transaction, *record));
          transaction.set_next_stamp(0);
          after.erase(id);
          continue;
        }
        std::pair<int, std::string> content{
            static_cast<int>(random_.below(4)),
            record ? storage::test::edited(random_, after[id].second) : storage::test::words(random_, 30)};
        if (record)
          things->update(transaction, *record, *things->find(transaction, *record), document(id, content));
        else
          things->insert(transaction, document(id, content));
        after[id] = std::move(content);
      }
      if (random_.below(8) == 0) return transaction.rollback();
      transaction.commit();
      heads_[name].documents = std::move(after);
    } catch (const storage::WriteConflict&) {  // the background had changed the row first
    }
  }

  void commit() {
    if (!branched()) return;
    const std::string name = any_branch();
    change([&](Transaction& transaction) { database().commit(transaction, name, {}); });
    committed_[name] = heads_[name];
  }
  void create() {
    if (!branched()) {
      if (!heads_["main"].there || random_.below(4) > 0) return;
      databases_->find_or_begin("shop", {});
      committed_["main"] = heads_["main"];
    }
    if (heads_.size() > 4) return;
    const std::string name = "b" + std::to_string(random_.below(6)), from = any_branch();
    if (heads_.contains(name)) return;
    change([&](Transaction& transaction) { database().create(transaction, name, {.name = from}); });
    heads_[name] = committed_[name] = committed_[from];
  }
  void drop_collection() {
    if (!branched()) return;
    const std::string name = any_branch();
    CHECK(store_->catalog().drop(ns_of(name)) == heads_[name].there);
    heads_[name] = {.there = false};
  }
  void drop_database() {
    const bool there = store_->catalog().open("shop.things") != nullptr;
    dropped_databases += there && branched() ? 1 : 0;
    CHECK(store_->catalog().drop_database("shop") == there);
    if (!there) return;
    heads_ = {{"main", {.there = false}}};
    committed_.clear();
    last_dropped_ = newest_;
  }
  void drop() {
    const std::string name = other_branch();
    if (name.empty()) return;
    change([&](Transaction& transaction) { database().drop(transaction, name, lost); });
    database().forget_views(name);
    heads_.erase(name);
    committed_.erase(name);
  }
  void reset() {
    if (!branched()) return;
    const std::string name = any_branch(), to = any_branch();
    change([&](Transaction& transaction) { database().reset(transaction, name, {.name = to}, lost); });
    heads_[name] = committed_[name] = committed_[to];
  }
  void rename() {
    const std::string name = other_branch(), to = "b" + std::to_string(random_.below(6));
    if (name.empty() || heads_.contains(to)) return;
    change([&](Transaction& transaction) { database().rename(transaction, name, to); });
    database().forget_views(name);
    heads_[to] = std::move(heads_[name]);
    committed_[to] = std::move(committed_[name]);
    heads_.erase(name);
    committed_.erase(name);
  }
  // Merges the other side, if the branch has nothing uncommitted.
  void merge() {
    if (!branched()) return;
    const std::string name = any_branch(), from = any_branch();
    if (name == from || heads_[name] != committed_[name]) return;
    change([&](Transaction& transaction) {
      // The transaction was rolled back.
      if (database().has_pending(transaction, database().branch(transaction, {.name = name}).id)) return;
      BranchedDatabase::MergeRequest request{.from = database().place(transaction, {.name = from}).commit};
      request.resolve = whole_documents(Prefer::theirs);
      database().merge(transaction, name, request, {});
    });
    Things found{.there = store_->catalog().find(ns_of(name)) != nullptr};
    if (found.there) {
      Transaction transaction(*store_, Transaction::Mode::read);
      const auto scan = collection(name)->scan(transaction, Direction::forward);
      while (scan->next()) take(found.documents, scan->document());
    }
    heads_[name] = committed_[name] = found;
  }
  void sweep() {
    if (!branched()) return;
    change([&](Transaction& transaction) { database().sweep(transaction, {.newest = 1}, 100, lost); });
    store_->catalog().drop_unowned("shop.things");
  }
  void purge() {
    if (!store_->catalog().open("shop.things")) return;
    const int id = static_cast<int>(random_.below(ids));
    const bson::Document key = document(id, {});
    databases_->purge("shop", "things", key["_id"], lost,
                      [&](const auto& work) { return storage::in_transaction(*store_, work); });
    for (Branches* branches : {&heads_, &committed_}) {
      for (auto& [name, things] : *branches) things.documents.erase(id);
    }
    for (auto& [number, branches] : snapshots_) {
      if (number <= last_dropped_) continue;  // of other collections, which were dropped
      for (auto& [name, things] : branches) things.documents.erase(id);
    }
  }

  static void take(Documents& documents, bson::DocumentView found) {
    const auto [at, is_new] =
        documents.emplace(found["_id"].as_int32(), std::pair{found["a"].as_int32(), std::string(found["text"].as_string())});
    CHECK(is_new);
  }
  void check_view(const std::string& ns, const Things& expected) {
    INFO(ns);
    const auto found = store_->catalog().find(ns);
    CHECK((found != nullptr) == expected.there);
    if (found) check_one(*found, expected.documents);
  }
  void check_one(Collection& things, const Documents& expected) {
    Transaction transaction(*store_, Transaction::Mode::read);
    for (const Direction direction : {Direction::forward, Direction::backward}) {
      Documents found;
      const auto scan = things.scan(transaction, direction);
      while (scan->next()) take(found, scan->document());
      CHECK(found == expected);
      for (const auto& index : things.indexes()) {
        INFO("index " << index->spec().name);
        Documents by_index;
        Bytes last;
        const auto cursor = things.scan(transaction, *index, direction);
        cursor->seek({});
        while (cursor->next()) {
          if (!last.empty())
            CHECK((direction == Direction::forward ? BytesView(last) <= cursor->key() : BytesView(last) >= cursor->key()));
          last = cursor->key();
          take(by_index, *things.find(transaction, cursor->record()));
        }
        CHECK(by_index == expected);
      }
    }
    CHECK(things.record_count() == static_cast<int64_t>(expected.size()));
    for (int id = 0; id < ids; ++id) {
      const bson::Document key = document(id, {});
      const auto record = things.find_id(transaction, key["_id"]);
      const auto due = expected.find(id);
      REQUIRE(record.has_value() == (due != expected.end()));
      if (record) CHECK(things.find(transaction, *record)->view()["text"].as_string() == due->second.second);
    }
  }

  base::Random random_;
  std::unique_ptr<storage::TemporaryDirectory> directory_;
  std::optional<Store> store_;
  std::optional<past::Past> past_;
  std::optional<Databases> databases_;
  Branches heads_, committed_;
  std::map<uint64_t, Branches> snapshots_;
  uint64_t newest_ = 0, last_dropped_ = 0;  // the newest of all snapshots, and the one when the database was dropped last
};

}  // namespace

TEST_CASE("every snapshot of any history of branches shows what each showed") {
  base::Random seeds(base::testing::seed());
  // Four histories have few drops of the database, and may have none.
  size_t saved = 0, dropped = 0;
  for (int run = 0; run < 4 || (dropped == 0 && run < 40); ++run) {
    History history(seeds());
    for (int step = 0; step < 300; ++step) {
      history.step();
      if (step % 50 == 49) history.check();
    }
    history.drop_all();
    saved += history.saved;
    dropped += history.dropped_databases;
  }
  CHECK(saved > 20);
  CHECK(dropped > 0);
}
