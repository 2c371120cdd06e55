// These tests compare the past with a model that copies everything at each snapshot.
#include "versions/past/past.h"

#include <fmt/core.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <map>
#include <set>
#include <thread>

#include "base/random.h"
#include "base/testing.h"
#include "bson/builder.h"
#include "bson/keystring.h"
#include "storage/background/dedup_service.h"
#include "storage/store.h"
#include "storage/testing/temporary_store.h"
#include "storage/testing/test_support.h"
#include "storage/upkeep/validate.h"
#include "versions/past/test_support.h"

using namespace versions::past;
using namespace versions::past::test;
using storage::Store;
using storage::Transaction;

namespace {

using Documents = std::map<int, Content>;

struct Shown {
  std::map<std::string, Documents> collections;
  std::map<std::string, std::set<std::string>> indexes;
  bool operator==(const Shown&) const = default;
};

storage::IndexSpec index_on(const std::string& field, bool unique) {
  bson::Builder spec;
  spec.object("key").append(field, 1);
  spec.append("name", field);
  if (unique) spec.append("unique", true);
  return storage::parse_index_spec(spec.done());
}

// A Mix says how often each thing happens in ten thousand steps; all other steps write.
struct Mix {
  unsigned restart, crash, declare, drop_snapshot, seal, sweep, change_index, drop_or_rename, drain;
};
constexpr Mix long_history{100, 100, 500, 200, 100, 100, 100, 100, 100};
// Many of these run on one engine: long histories are rare, because they take long.
constexpr Mix short_history{5, 5, 1200, 500, 300, 300, 400, 200, 200};

class World {
 public:
  World(uint64_t seed, const Mix& mix) : random_(seed), mix_(mix), directory_(std::make_unique<storage::TemporaryDirectory>()) {
    open();
  }
  // Begins another history, on what the one before has left.
  void begin(uint64_t seed) {
    random_ = base::Random(seed);
    removes_one_in_ = seed % 2 ? 3 : 30;
  }

  void step() {
    uint64_t dice = random_.below(10'000);
    const auto is = [&](unsigned share) {
      if (dice < share) return true;
      dice -= share;
      return false;
    };
    if (is(mix_.restart)) return reopen(false);
    if (is(mix_.crash)) return reopen(true);
    if (is(mix_.declare)) return declare();
    if (is(mix_.drop_snapshot)) return drop_snapshot();
    if (is(mix_.seal)) return past_->seal();
    if (is(mix_.sweep)) return past_->sweep(nullptr);
    if (is(mix_.change_index)) return change_index();
    if (is(mix_.drop_or_rename)) return drop_or_rename();
    if (is(mix_.drain)) return store_->dedup().drain();
    write();
  }
  uint64_t steps_to_do() { return 10 + random_.below(21); }

  void check_snapshots() {
    for (const auto& [number, shown] : snapshots_) {
      INFO("snapshot " << number);
      check_one(*past_->snapshots().find(number), shown);
    }
  }
  void check() {
    check_snapshots();
    for (const auto& [name, documents] : now_.collections) {
      const auto collection = store_->catalog().open("db." + name);
      storage::test::require_clean(*store_, *collection);
      const auto report = storage::validate_collection(*store_, collection, false);
      for (const std::string& error : report.errors) FAIL_CHECK(error);
      for (const std::string& warning : report.warnings) FAIL_CHECK(warning);
    }
  }
  void drop_collections() {
    for (const auto& [name, documents] : now_.collections) store_->catalog().drop("db." + name);
    now_ = {};
  }
  void drop_all() {
    drop_snapshots();
    for (const auto& [name, documents] : now_.collections) {
      const auto collection = store_->catalog().open("db." + name);
      storage::test::require_clean(*store_, *collection);
    }
  }
  void drop_snapshots() {
    while (!snapshots_.empty()) drop_snapshot();
    past_->sweep(nullptr);
    for (const char* table : {"past-rows", "past-chains", "past-entries", "past-catalog"}) {
      INFO(table);
      const auto tables = store_->engine().table_names();
      if (std::find(tables.begin(), tables.end(), table) == tables.end()) continue;
      Transaction transaction(*store_, Transaction::Mode::read);
      CHECK_FALSE(storage::Table(table).cursor(transaction).next());
    }
  }
  uint64_t saved() const { return saved_before_ + past_->saved(); }

 private:
  void open() {
    store_.emplace(storage::test_options(directory_->path()));
    past_.emplace(*store_);
    views_.emplace(*past_);
  }
  void reopen(bool crash) {
    saved_before_ += past_->saved();
    auto copy = std::make_unique<storage::TemporaryDirectory>();
    if (crash) {
      store_->engine().wait_durable();
      directory_->copy_to(*copy);
    }
    views_.reset();
    past_.reset();
    store_.reset();
    if (crash) directory_ = std::move(copy);
    open();
  }

  void declare() {
    past_->make();
    const std::string name = random_.below(2) ? "n" + std::to_string(names_++) : "";
    const auto snapshot =
        past_->snapshots().declare(name, [](Transaction& transaction, const DeclaredSnapshot&) { transaction.next_stamp(); });
    snapshots_[snapshot.number] = now_;
    if (!name.empty()) CHECK(past_->snapshots().find(name)->number == snapshot.number);
  }
  void drop_snapshot() {
    if (snapshots_.empty()) return;
    const auto one = std::next(snapshots_.begin(), static_cast<long>(random_.below(snapshots_.size())));
    REQUIRE(
        past_->snapshots().drop(one->first, [](Transaction& transaction, const DeclaredSnapshot&) { transaction.next_stamp(); }));
    snapshots_.erase(one);
  }

  std::string any_name() { return std::string(1, static_cast<char>('c' + random_.below(3))); }
  void change_index() {
    const std::string name = any_name();
    if (!now_.collections.contains(name)) return;
    const auto collection = store_->catalog().open("db." + name);
    const std::string field = random_.below(2) ? "a" : "u";
    auto& indexes = now_.indexes[name];
    if (indexes.erase(field)) return store_->catalog().drop_index(collection, field);
    store_->catalog().create_indexes(collection, {index_on(field, field == "u")});
    indexes.insert(field);
  }
  void drop_or_rename() {
    const std::string name = any_name(), to = any_name();
    if (!now_.collections.contains(name)) return;
    if (random_.below(2) || name == to) {
      store_->catalog().drop("db." + name);
      now_.collections.erase(name);
      now_.indexes.erase(name);
      return;
    }
    store_->catalog().rename("db." + name, "db." + to, true);
    now_.collections[to] = std::move(now_.collections[name]);
    now_.indexes[to] = now_.indexes[name];
    now_.collections.erase(name);
    now_.indexes.erase(name);
  }
  void write() {
    try {
      write_once();
    } catch (const storage::WriteConflict&) {  // the background had changed the row first
    }
  }
  // One transaction over some documents of a collection; one in eight is rolled back.
  void write_once() {
    const std::string name = any_name();
    const auto collection = store_->catalog().open_or_create("db." + name);
    Documents after = now_.collections[name];  // makes the collection, if it doesn't exist
    Transaction transaction(*store_, Transaction::Mode::write);
    transaction.expect_stamps(8);
    for (uint64_t i = 0; i <= random_.below(4); ++i) {
      const int id = static_cast<int>(random_.below(12));
      bson::Builder builder;
      builder.append("_id", id);
      const bson::Document key = builder.done();
      const auto record = collection->find_id(transaction, static_cast<bson::ValueView>(key.view().find("_id")));
      REQUIRE(record.has_value() == after.contains(id));
      if (record && random_.below(removes_one_in_) == 0) {
        collection->remove(transaction, *record, document_of(id, after[id]));
        transaction.next_stamp();  // the log's timestamp
        after.erase(id);
        continue;
      }
      Content content = record ? after[id] : Content{0, 0, storage::test::words(random_, 30)};
      if (record) content.text = storage::test::edited(random_, content.text);
      if (!record || random_.below(2)) content.a = static_cast<int>(random_.below(4));
      content.u = id + 100 * static_cast<int>(random_.below(3));
      if (record) {
        collection->update(transaction, *record, document_of(id, after[id]), document_of(id, content));
      } else {
        collection->insert(transaction, document_of(id, content));
      }
      after[id] = content;
    }
    if (random_.below(8) == 0) return transaction.rollback();
    transaction.commit();
    now_.collections[name] = std::move(after);
  }

  Content content_of(bson::DocumentView document) {
    return {static_cast<int>(document.find("a").to_int64()), static_cast<int>(document.find("u").to_int64()),
            std::string(document.find("text").as_string())};
  }
  void check_one(const DeclaredSnapshot& snapshot, const Shown& due) {
    std::set<std::string> names;
    for (const auto& collection : views_->collections(snapshot, "db@x", "db")) names.insert(collection->ns().substr(5));
    std::set<std::string> due_names;
    for (const auto& [name, documents] : due.collections) due_names.insert(name);
    REQUIRE(names == due_names);
    for (const auto& [name, documents] : due.collections) {
      INFO("collection " << name);
      const auto collection = views_->open(snapshot, "db@x." + name, "db." + name);
      Transaction transaction(*store_, Transaction::Mode::read);
      check_scan(transaction, *collection, documents, storage::Direction::forward);
      check_scan(transaction, *collection, documents, storage::Direction::backward);
      std::set<std::string> indexes;
      for (const auto& index : collection->indexes()) {
        if (index->spec().name != "_id_") indexes.insert(index->spec().name);
        check_index(transaction, *collection, *index, documents);
      }
      const auto due_indexes = due.indexes.find(name);
      CHECK(indexes == (due_indexes == due.indexes.end() ? std::set<std::string>() : due_indexes->second));
      CHECK(collection->record_count() == static_cast<int64_t>(documents.size()));
      for (int id = 0; id < 12; ++id) {
        bson::Builder builder;
        builder.append("_id", id);
        const bson::Document key = builder.done();
        const auto record = collection->find_id(transaction, static_cast<bson::ValueView>(key.view().find("_id")));
        const auto found = documents.find(id);
        REQUIRE(record.has_value() == (found != documents.end()));
        if (record) CHECK(content_of(collection->find(transaction, *record, nullptr)->view()) == found->second);
      }
    }
  }
  // It pauses sometimes, and goes on in another transaction.
  void check_scan(Transaction& transaction, storage::Collection& collection, const Documents& due, storage::Direction direction) {
    Documents found;
    auto scan = collection.scan(transaction, direction);
    std::optional<Transaction> later;
    storage::RecordId last = 0;
    while (scan->next()) {
      if (last != 0) CHECK((scan->record() > last) == (direction == storage::Direction::forward));
      last = scan->record();
      const bson::DocumentView document = scan->document();
      REQUIRE(found.emplace(static_cast<int>(document.find("_id").to_int64()), content_of(document)).second);
      if (random_.below(4) == 0) {
        scan->save();
        later.reset();
        later.emplace(*store_, Transaction::Mode::read);
        scan->restore(*later);
      }
    }
    CHECK(found == due);
    scan.reset();
  }
  void check_index(Transaction& transaction, storage::Collection& collection, const storage::Index& index, const Documents& due) {
    const std::string field = index.spec().fields.front().path;
    std::vector<std::pair<int64_t, int>> all, wanted;
    for (const auto& [id, content] : due) wanted.emplace_back(field == "_id" ? id : field == "a" ? content.a : content.u, id);
    std::sort(wanted.begin(), wanted.end());
    for (const auto direction : {storage::Direction::forward, storage::Direction::backward}) {
      all.clear();
      std::optional<Transaction> later;
      auto cursor = collection.scan(transaction, index, direction);
      const int64_t from = static_cast<int64_t>(random_.below(2)), to = 3 + static_cast<int64_t>(random_.below(250));
      bson::KeyString low, high;
      low.append(bson::Value(from)).append_before();
      high.append(bson::Value(to)).append_after();
      cursor->seek({Bytes(low.bytes()), Bytes(high.bytes())});
      INFO("index " << field << ", forward " << (direction == storage::Direction::forward) << ", from " << from << " to " << to);
      Transaction* now = &transaction;
      while (cursor->next()) {
        const auto document = collection.find(*now, cursor->record(), nullptr);
        REQUIRE(document);
        all.emplace_back(document->view().find(field).to_int64(), static_cast<int>(document->view().find("_id").to_int64()));
        if (random_.below(4) == 0) {
          cursor->save();
          later.reset();
          later.emplace(*store_, Transaction::Mode::read);
          cursor->restore(*later);
          now = &*later;
        }
      }
      std::vector<std::pair<int64_t, int>> in_range;
      for (const auto& one : wanted) {
        if (one.first >= from && one.first <= to) in_range.push_back(one);
      }
      for (size_t i = 1; i < all.size(); ++i)
        CHECK((direction == storage::Direction::forward ? all[i - 1].first <= all[i].first : all[i - 1].first >= all[i].first));
      std::sort(all.begin(), all.end());
      CHECK(all == in_range);
      cursor.reset();
    }
  }

  base::Random random_;
  const Mix mix_;
  uint64_t removes_one_in_ = 3;
  uint64_t saved_before_ = 0;  // by its engines before
  std::unique_ptr<storage::TemporaryDirectory> directory_;
  std::optional<Store> store_;
  std::optional<Past> past_;
  std::optional<versions::PastViews> views_;
  Shown now_;
  std::map<uint64_t, Shown> snapshots_;
  int names_ = 0;
};

}  // namespace

TEST_CASE("every snapshot of any history shows what there was") {
  size_t saved = 0;
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    INFO("seed " << seed);
    World world(seed, long_history);
    for (int i = 0; i < 400; ++i) {
      world.step();
      if (i % 50 == 49) world.check();
    }
    world.drop_all();
    saved += world.saved();
  }
  CHECK(saved > 100);
}

// The ordinary run takes a few hundred. More, or some of them again; those of one engine begin at a multiple of a hundred:
//
//   PALIMPSEST_PAST_HISTORIES=60000 versions_tests "every snapshot of many short histories*"
//   PALIMPSEST_PAST_FIRST=4200 PALIMPSEST_PAST_HISTORIES=100 versions_tests "every snapshot of many short histories*"
TEST_CASE("every snapshot of many short histories shows what there was") {
  constexpr uint64_t of_one_engine = 100;
  const auto setting = [](const char* name, uint64_t otherwise) {
    const char* text = std::getenv(name);
    return text ? std::strtoull(text, nullptr, 10) : otherwise;
  };
  const uint64_t first = setting("PALIMPSEST_PAST_FIRST", 0) / of_one_engine * of_one_engine,
                 count = setting("PALIMPSEST_PAST_HISTORIES", 300);
  uint64_t saved = 0;
  for (uint64_t begin = first; begin < first + count; begin += of_one_engine) {
    World world(begin, short_history);
    for (uint64_t seed = begin; seed < std::min(begin + of_one_engine, first + count); ++seed) {
      INFO("history " << seed << ", again with PALIMPSEST_PAST_FIRST=" << begin
                      << " PALIMPSEST_PAST_HISTORIES=" << seed - begin + 1);
      world.begin(seed);
      if (seed % 10 == 0) world.drop_collections();
      for (uint64_t steps = world.steps_to_do(); steps > 0; --steps) world.step();
      world.check_snapshots();
      world.drop_snapshots();
    }
    INFO("after the histories from " << begin << " on");
    world.check();
    world.drop_all();
    saved += world.saved();
  }
  CHECK(saved > count / 2);
}

// Money moves between accounts, some of which are closed and opened again. Each snapshot must show the same sum.
TEST_CASE("a snapshot lies between transactions, whatever is under way when it is declared") {
  constexpr int accounts = 40, each = 100, writers = 3, declared = 60;
  storage::TemporaryDirectory directory;
  Store store(storage::test_options(directory.path()));
  Past past(store);
  versions::PastViews views(past);
  const auto collection = store.catalog().create("bank.accounts", {});
  const auto account = [](int id, int64_t balance) {
    bson::Builder out;
    out.append("_id", id).append("balance", balance).append("text", std::string(200, 'x'));
    return out.done();
  };
  storage::in_transaction(store, [&](Transaction& transaction) {
    transaction.expect_stamps(accounts);
    for (int id = 0; id < accounts; ++id) collection->insert(transaction, account(id, each));
  });
  std::atomic<bool> done{false};
  std::atomic<int64_t> moves{0};
  std::vector<std::thread> threads;
  for (int writer = 0; writer < writers; ++writer) {
    threads.emplace_back([&, writer] {
      base::Random random(static_cast<uint64_t>(writer) + 1);
      while (!done) {
        try {
          Transaction transaction(store, Transaction::Mode::write);
          transaction.expect_stamps(2);
          const int from = static_cast<int>(random.below(accounts)), to = static_cast<int>(random.below(accounts));
          if (from == to) continue;
          const auto move = [&](int id, int64_t amount) {
            bson::Builder builder;
            builder.append("_id", id);
            const bson::Document key = builder.done();
            const auto record = collection->find_id(transaction, static_cast<bson::ValueView>(key.view().find("_id")));
            const auto before = record ? collection->find(transaction, *record) : std::nullopt;
            const int64_t balance = (before ? before->view().find("balance").to_int64() : 0) + amount;
            if (!record) {
              collection->insert(transaction, account(id, balance));
            } else if (balance == 0) {
              transaction.set_next_stamp(transaction.next_stamp());  // as the log has it
              collection->remove(transaction, *record, *before);
              transaction.set_next_stamp(0);
            } else {
              collection->update(transaction, *record, *before, account(id, balance));
            }
          };
          const int64_t amount = static_cast<int64_t>(random.below(2)) * 50 + 50;
          move(from, -amount);
          move(to, amount);
          if (random.below(10) == 0) continue;
          transaction.commit();
          ++moves;
        } catch (const storage::WriteConflict&) {
        }
      }
    });
  }
  past.make();
  using Shown = std::map<int64_t, int64_t>;
  std::map<uint64_t, Shown> first;  // what each showed when it was new
  const auto read = [&](const DeclaredSnapshot& snapshot) {
    Shown shown;
    const auto then = views.open(snapshot, "bank@s.accounts", "bank.accounts");
    Transaction transaction(store, Transaction::Mode::read);
    auto scan = then->scan(transaction, storage::Direction::forward);
    while (scan->next()) shown[scan->document().find("_id").to_int64()] = scan->document().find("balance").to_int64();
    return shown;
  };
  for (int i = 0; i < declared; ++i) {
    const auto snapshot =
        past.snapshots().declare({}, [](Transaction& transaction, const DeclaredSnapshot&) { transaction.next_stamp(); });
    const Shown shown = read(snapshot);
    int64_t sum = 0;
    for (const auto& [id, balance] : shown) sum += balance;
    CHECK(sum == accounts * each);
    first[snapshot.number] = shown;
    if (i % 3 == 2) past.seal();
    if (i % 7 == 6) {
      past.snapshots().drop(first.begin()->first,
                            [](Transaction& transaction, const DeclaredSnapshot&) { transaction.next_stamp(); });
      first.erase(first.begin());
      past.sweep(nullptr);
    }
    REQUIRE(base::testing::wait_until([&, before = moves.load()] { return moves > before + writers; }));
  }
  done = true;
  for (auto& thread : threads) thread.join();
  for (const auto& [number, shown] : first) {
    INFO("snapshot " << number);
    CHECK(read(*past.snapshots().find(number)) == shown);
  }
  CHECK(past.saved() > declared);
  storage::test::require_clean(store, *collection);
}

TEST_CASE("a record's number that is given out again is not taken for what it was") {
  storage::TemporaryDirectory directory;
  // Dedup notes how far the numbers went, and then none is given out again.
  storage::StoreOptions options = storage::test_options(directory.path());
  options.dedup.enabled = false;
  std::optional<Store> store(options);
  std::optional<Past> past(*store);
  past->make();
  store->catalog().create("db.c", {});
  const auto change = [&](const auto& work) {
    storage::in_transaction(*store, [&](Transaction& transaction) {
      transaction.expect_stamps(4);
      work(transaction, *store->catalog().open("db.c"));
    });
  };
  storage::RecordId first = 0, again = 0;
  change([&](Transaction& transaction, storage::Collection& collection) {
    first = collection.insert(transaction, document_of(1, {0, 0, "one"})).id;
  });
  const DeclaredSnapshot snapshot =
      past->snapshots().declare({}, [](Transaction& transaction, const DeclaredSnapshot&) { transaction.next_stamp(); });
  change([&](Transaction& transaction, storage::Collection& collection) {
    collection.remove(transaction, first, document_of(1, {0, 0, "one"}));
  });
  const Stamp last = store->engine().last_stamp();
  past.reset();
  store.reset();
  store.emplace(options);
  past.emplace(*store);
  store->engine().raise_stamp(last);
  change([&](Transaction& transaction, storage::Collection& collection) {
    again = collection.insert(transaction, document_of(2, {0, 0, "two"})).id;
  });
  REQUIRE(again == first);

  versions::PastViews views(*past);
  const auto then = views.open(snapshot, "db@s1.c", "db.c");
  Transaction transaction(*store, Transaction::Mode::read);
  const bson::Document one = document_of(1, {}), two = document_of(2, {});
  CHECK(then->find_id(transaction, one["_id"]) == first);
  CHECK_FALSE(then->find_id(transaction, two["_id"]));
}

// A document that is changed, each time after another snapshot.
struct OneHistory : OnePast {
  const std::string text = std::string(500, 'x');
  bson::Document now = document_of(1, {0, 0, text});
  storage::RecordId record = 0;
  std::vector<std::pair<DeclaredSnapshot, bson::Document>> shown;

  OneHistory() {
    change([&](Transaction& transaction) { record = collection->insert(transaction, now).id; });
  }
  void save(int value) { save_as({value, 0, text}); }
  // The new content has nothing in common with the old one, so the old one doesn't stay in the row.
  void save_other(int value) {
    base::Random random(static_cast<uint64_t>(value));
    std::string other(500, '\0');
    for (char& c : other) c = static_cast<char>('a' + random.below(26));
    save_as({value, 0, other});
  }
  void save_as(const Content& content) {
    shown.emplace_back(declare(), now);
    const bson::Document after = document_of(1, content);
    change([&](Transaction& transaction) { collection->update(transaction, record, now, after); });
    now = after;
    store.dedup().drain();
  }
  void drop_all_but(const DeclaredSnapshot& last) {
    for (const DeclaredSnapshot& one : past.snapshots().all()) {
      if (one.number != last.number) drop(one);
    }
  }
  void drop_first() {
    drop(shown.front().first);
    shown.erase(shown.begin());
  }
  int saved_ids() {
    Transaction transaction(store, Transaction::Mode::read);
    SavedEntries::Cursor entries(past.entries(), transaction, collection->id(), collection->stored_indexes()->front()->number(),
                                 storage::Direction::forward);
    int count = 0;
    while (entries.next()) ++count;
    return count;
  }
  void check() {
    Transaction transaction(store, Transaction::Mode::read);
    for (const auto& [snapshot, due] : shown) {
      const auto then = as_of(snapshot);
      CHECK(then->find_id(transaction, due["_id"]) == record);
      auto entries = then->scan(transaction, *then->index("_id_"), storage::Direction::forward);
      REQUIRE(entries->next());
      CHECK(then->find(transaction, entries->record())->bytes() == due.bytes());
      CHECK_FALSE(entries->next());
    }
  }
};

TEST_CASE("the entry of a document's id is saved when it goes, and goes with the last content that is kept") {
  OneHistory history;
  for (int value = 1; value <= 12; ++value) history.save(value);
  CHECK(history.saved_ids() == 0);  // the index still has the entry
  history.check();
  history.change([&](Transaction& transaction) { history.collection->remove(transaction, history.record, history.now); });
  CHECK(history.saved_ids() == 1);
  history.check();
  while (history.shown.size() > 1) {
    history.drop_first();
    history.past.sweep(nullptr);
    CHECK(history.saved_ids() == 1);
    history.check();
  }
  // It begins anew while another snapshot stays, which has kept nothing yet.
  history.shown.clear();
  const auto nothing = history.declare();
  history.drop_all_but(nothing);
  history.past.sweep(nullptr);
  CHECK(history.saved_ids() == 0);
}

TEST_CASE("a document that goes when nothing of it is kept any more saves nothing") {
  OneHistory history;
  for (int value = 1; value <= 12; ++value) history.save(value);
  const auto last = history.declare();
  history.shown.clear();
  history.drop_all_but(last);
  history.past.sweep(nullptr);
  history.drop(last);
  history.past.sweep(nullptr);
  history.change([&](Transaction& transaction) { history.collection->remove(transaction, history.record, history.now); });
  CHECK(history.saved_ids() == 0);
  Transaction transaction(history.store, Transaction::Mode::read);
  CHECK_FALSE(storage::Table("chains-" + std::to_string(history.collection->id())).cursor(transaction).next());
}

TEST_CASE("what a snapshot kept that came and went during a sweep is swept up after next") {
  OneHistory history;
  history.save_other(1);
  history.drop_first();
  int times = 0;
  history.past.sweep([&] {
    if (times++ > 0) return;
    history.save_other(2);
    history.drop_first();
  });
  CHECK(times > 0);
  history.save_other(3);
  history.change([&](Transaction& transaction) { history.collection->remove(transaction, history.record, history.now); });
  CHECK(history.saved_ids() == 1);
  history.check();
  history.drop_first();
  history.past.sweep(nullptr);
  CHECK(history.saved_ids() == 0);
  CHECK(history.collection->records().stats().records == 0);
  Transaction transaction(history.store, Transaction::Mode::read);
  CHECK_FALSE(storage::Table("chains-" + std::to_string(history.collection->id())).cursor(transaction).next());
}

TEST_CASE("what was kept for a snapshot whose declaration was rolled back goes with the last one that is dropped") {
  OneHistory history;
  const auto rows = [&] {
    Transaction transaction(history.store, Transaction::Mode::read);
    int count = 0;
    storage::TableCursor cursor = storage::Table("chains-" + std::to_string(history.collection->id())).cursor(transaction);
    while (cursor.next()) ++count;
    return count;
  };
  struct NoLog {};
  const auto fails = [&](Transaction& transaction, const DeclaredSnapshot&) {
    transaction.next_stamp();
    const bson::Document after = document_of(1, {1, 0, std::string(500, 'z')});
    history.change([&](Transaction& write) { history.collection->update(write, history.record, history.now, after); });
    history.now = after;
    history.change([&](Transaction& write) { history.collection->remove(write, history.record, history.now); });
    throw NoLog();
  };
  CHECK_THROWS_AS(history.past.snapshots().declare({}, fails), NoLog);
  CHECK(rows() > 0);
  history.drop(history.declare());
  history.past.sweep(nullptr);
  CHECK(rows() == 0);
  CHECK(history.saved_ids() == 0);
}

TEST_CASE("a document that goes while what is kept of it lies in another record's chain stays in its snapshots") {
  base::Random random(base::testing::seed() + 5);
  OnePast world;
  std::vector<storage::RecordId> records;
  std::string text = storage::test::words(random, 300);
  bson::Document second;
  for (int id = 1; id <= 3; ++id) {
    const bson::Document document = document_of(id, {id, id, text});
    if (id == 2) second = document;
    world.change([&](Transaction& transaction) { records.push_back(world.collection->insert(transaction, document).id); });
    world.store.dedup().drain();
    text = storage::test::edited(random, text);
  }
  const DeclaredSnapshot snapshot = world.declare();
  const bson::Document other = document_of(2, {9, 9, std::string(2'000, 'x')});
  world.change([&](Transaction& transaction) { world.collection->update(transaction, records[1], second, other); });
  {
    Transaction transaction(world.store, Transaction::Mode::read);
    REQUIRE(storage::Table("past-chains").cursor(transaction).next());  // the content is where this test wants it
  }
  world.change([&](Transaction& transaction) { world.collection->remove(transaction, records[1], other); });
  const auto then = world.as_of(snapshot);
  const auto shown = [&] {
    Transaction transaction(world.store, Transaction::Mode::read);
    const auto by_id = then->find_id(transaction, second["_id"]);
    auto entries = then->scan(transaction, *then->index("_id_"), storage::Direction::forward);
    entries->seek({});
    int count = 0;
    while (entries->next()) ++count;
    if (by_id) CHECK(then->find(transaction, *by_id)->bytes() == second.bytes());
    return std::pair(by_id, count);
  };
  CHECK(shown() == std::pair(std::optional(records[1]), 3));
  bson::KeyString key;
  key.append(static_cast<bson::ValueView>(second["_id"]));
  world.change([&](Transaction& transaction) {
    CHECK(world.past.purge(transaction, *world.collection, key.bytes()) == 1);
    transaction.next_stamp();
  });
  CHECK(shown() == std::pair(std::optional<storage::RecordId>(), 2));
  world.drop(snapshot);
  world.past.sweep(nullptr);
  storage::test::require_clean(world.store, *world.collection);
}

TEST_CASE("what stays for the past alone is not encoded a second time") {
  OneHistory history;
  for (int value = 1; value <= 3; ++value) history.save(value);
  bson::Builder status;
  history.store.dedup().append_server_status(status);
  CHECK(status.done()["background"].as_document()["successors"].to_int64() == 0);
}

TEST_CASE("a snapshot has the time of the store's clock") {
  base::testing::StoppedClock clock(1'700'000'000'123);
  storage::TemporaryDirectory directory;
  storage::StoreOptions options = storage::test_options(directory.path());
  options.clock = &clock;
  Store store(options);
  Snapshots snapshots(store);
  const auto declare = [&](const char* name) {
    return snapshots.declare(name, [](Transaction& transaction, const DeclaredSnapshot&) { transaction.next_stamp(); });
  };
  CHECK(declare("first").time_ms == 1'700'000'000'123);
  clock.advance(std::chrono::seconds(60));
  CHECK(declare("second").time_ms == 1'700'000'060'123);
  CHECK(snapshots.find("20231114T221400Z")->name == "first");
  CHECK(snapshots.find("20231114T221420Z")->name == "second");
}

TEST_CASE("the newest snapshot at or before a time is found, though the clock went back between some") {
  base::Random random(base::testing::seed() + 17);
  storage::TemporaryDirectory directory;
  Store store(storage::test_options(directory.path()));
  Snapshots snapshots(store);
  snapshots.make();
  constexpr int64_t begin = 1'793'491'200;  // 2026-11-01T00:00:00Z
  std::vector<DeclaredSnapshot> due;
  uint64_t number = 0;
  int64_t clock = 100;
  const auto check = [&] {
    for (int64_t second = 0; second < 600; second += 7) {
      const std::string ref = fmt::format("20261101T00{:02}{:02}Z", second / 60, second % 60);
      const auto newest =
          std::find_if(due.rbegin(), due.rend(), [&](const auto& one) { return one.time_ms <= (begin + second) * 1000 + 999; });
      INFO(ref << ", " << due.size() << " snapshots");
      if (newest == due.rend())
        CHECK_THROWS_AS(snapshots.find(ref), base::OperationError);
      else
        CHECK(snapshots.find(ref)->number == newest->number);
    }
  };
  for (int i = 0; i < 60; ++i) {
    if (!due.empty() && random.below(4) == 0) {
      const auto one = due.begin() + static_cast<std::ptrdiff_t>(random.below(due.size()));
      REQUIRE(snapshots.drop(one->number, [](Transaction& transaction, const DeclaredSnapshot&) { transaction.next_stamp(); }));
      due.erase(one);
    } else {
      clock += random.below(4) == 0 ? -static_cast<int64_t>(random.below(60)) : static_cast<int64_t>(random.below(30));
      storage::in_transaction(store, [&](Transaction& transaction) {
        transaction.expect_stamps(2);
        const DeclaredSnapshot one{number + 1, transaction.next_stamp(), (begin + clock) * 1000, {}};
        snapshots.replay_declare(transaction, one);
        due.push_back(one);
      });
      ++number;
    }
    check();
  }
  snapshots.reload();
  check();
}

TEST_CASE("nothing stays of many contents that a dropped snapshot showed") {
  constexpr int documents = 5'000;
  storage::TemporaryDirectory directory;
  storage::StoreOptions options = storage::test_options(directory.path());
  options.dedup.enabled = false;
  Store store(options);
  Past past(store);
  past.make();
  const auto collection = store.catalog().create("db.c", {});
  store.catalog().create_indexes(collection, {index_on("a", false)});
  const auto declare = [&] {
    return past.snapshots().declare({}, [](Transaction& transaction, const DeclaredSnapshot&) { transaction.next_stamp(); });
  };
  std::vector<storage::RecordId> records;
  const auto document = [](int id, int a) {
    base::Random random(static_cast<uint64_t>(id * 10 + a));
    std::string text(300, '\0');
    for (char& c : text) c = static_cast<char>('a' + random.below(26));
    return document_of(id, {a, id, text});
  };
  const auto write = [&](int a) {
    for (int begin = 0; begin < documents; begin += 500) {
      storage::in_transaction(store, [&](Transaction& transaction) {
        transaction.expect_stamps(500);
        for (int id = begin; id < begin + 500; ++id) {
          const bson::Document after = document(id, a);
          if (a == 0)
            records.push_back(collection->insert(transaction, after).id);
          else
            collection->update(transaction, records[static_cast<size_t>(id)], document(id, a - 1), after);
        }
      });
    }
  };
  write(0);
  const DeclaredSnapshot first = declare(), second = declare();
  write(1);
  const DeclaredSnapshot third = declare();
  write(2);
  int rows = 0;  // rows that are kept, or that others are based on
  const auto kept = [&] {
    Transaction transaction(store, Transaction::Mode::read);
    storage::TableCursor cursor = storage::Table("chains-" + std::to_string(collection->id())).cursor(transaction);
    int count = 0;
    for (rows = 0; cursor.next(); ++rows)
      count += storage::parse_chain_row(cursor.value(), storage::parse_chain_key(cursor.key()).or_throw()).or_throw().kept;
    return count;
  };
  const auto drop = [&](const DeclaredSnapshot& snapshot) {
    REQUIRE(past.snapshots().drop(snapshot.number,
                                  [](Transaction& transaction, const DeclaredSnapshot&) { transaction.next_stamp(); }));
    CHECK(past.untidy());
    past.sweep(nullptr);
    past.seal();
    CHECK_FALSE(past.untidy());
    storage::test::require_clean(store, *collection);
  };
  CHECK(kept() == 2 * documents);
  {
    // The sweep can be interrupted, although it looks at many contents and frees none.
    REQUIRE(past.snapshots().drop(second.number,
                                  [](Transaction& transaction, const DeclaredSnapshot&) { transaction.next_stamp(); }));
    REQUIRE(base::testing::wait_until([&] { return store.engine().all_committed() > store.engine().last_stamp(); }));
    int asked = 0;
    past.sweep([&] { ++asked; });
    CHECK(asked > documents / 4096);
  }
  CHECK(kept() == 2 * documents);
  past.seal();
  drop(third);
  CHECK(kept() == documents);
  drop(first);
  CHECK(kept() == 0);
  CHECK(rows == 0);
}
