// These tests lose rows of what branches show beyond their last commits, and compare what a repair rebuilds with what was there.
#include <algorithm>
#include <catch2/catch.hpp>

#include "base/random.h"
#include "base/testing.h"
#include "bson/json.h"
#include "bson/key_id.h"
#include "storage/contents/record_store_state.h"
#include "versions/branch/field_merge.h"
#include "versions/branch/pending_rows.h"
#include "versions/database/mended_pending.h"
#include "versions/database/test_shop.h"

using namespace versions;
using bson::json;
using storage::LoggedEntry;

namespace {

using Rows = std::map<Bytes, Bytes>;

// The log of what the test writes, and of changes of branches.
struct Recorded final : storage::BranchLog, storage::EntryLog {
  struct Entry {
    LoggedEntry seen;
    std::string ns;
    bson::Document document;
  };
  void branches_changed(Transaction& transaction, std::string_view db, bson::DocumentView command) override {
    const Stamp stamp = transaction.next_stamp();
    append(transaction, {.stamp = stamp}, std::string(db) + ".$cmd", bson::Document(command));
  }
  Stamp document_changed(Transaction& transaction, std::string_view ns, BytesView, const bson::DocumentView* before,
                         const bson::DocumentView* after) override {
    const Stamp stamp = transaction.next_stamp();
    const auto kind = !after ? LoggedEntry::Kind::removes : before ? LoggedEntry::Kind::changes : LoggedEntry::Kind::has;
    append(transaction, {.kind = kind, .stamp = stamp}, std::string(ns), bson::Document(after ? *after : *before));
    return stamp;
  }
  void document_replaced(Transaction&, storage::CollectionId, RecordId, Stamp, bson::DocumentView) override {}
  void content_lost(Transaction&, storage::CollectionId, RecordId, const storage::Superseded&) override {}

  // Entries of one transaction have its first timestamp.
  void append(Transaction& transaction, LoggedEntry seen, std::string ns, bson::Document document) {
    transaction.after_commit([this, seen, ns = std::move(ns), document = std::move(document)]() mutable {
      if (first_ == 0) first_ = seen.stamp;
      seen.transaction = first_;
      entries.push_back({seen, std::move(ns), std::move(document)});
    });
  }
  void end_transaction() { first_ = 0; }
  // Nobody keeps these contents of the record any more, so the log takes them over.
  void keep(RecordId record, Stamp below) {
    for (Entry& one : entries) {
      if (one.seen.kind == LoggedEntry::Kind::names && one.seen.record == record && one.seen.stamp < below)
        one.seen.kind = LoggedEntry::Kind::has;
    }
  }

  void walk(const Meet& meet, const MeetHole& meet_hole, const std::function<void()>&) override {
    std::vector<Entry*> sorted;
    for (Entry& one : entries) sorted.push_back(&one);
    std::sort(sorted.begin(), sorted.end(), [](const Entry* a, const Entry* b) { return a->seen.stamp < b->seen.stamp; });
    for (size_t i = begins_at; i < sorted.size(); ++i) {
      Entry& one = *sorted[i];
      if (i == hole_at) meet_hole("a page of it is damaged");
      one.seen.ns = one.ns;
      one.seen.uuid = uuid;
      one.seen.collection = collection;
      one.seen.with_id = one.seen.command = one.document;
      meet(one.seen);
    }
  }
  std::optional<bson::Document> after(Stamp, const std::optional<bson::Document>&) override { return std::nullopt; }

  Bytes uuid;
  storage::CollectionId collection = 0;
  std::vector<Entry> entries;
  size_t begins_at = 0;       // the log doesn't have the entries before it
  size_t hole_at = SIZE_MAX;  // entries before this one can't be read

 private:
  Stamp first_ = 0;
};

struct Branched {
  explicit Branched(uint64_t seed = base::testing::seed())
      : random(seed),
        store(storage::test_options(directory.path())),
        past(store),
        databases(store, past, &log),
        things(store.catalog().create("shop.things", {})) {
    log.uuid = things->uuid_bytes();
    log.collection = things->id();
    for (int i = 0; i < 30; ++i) write("main");
    database = databases.find_or_begin("shop", {}).database;
    log.end_transaction();
  }

  template <class Work>
  auto change(Work work) {
    log.end_transaction();
    return storage::in_transaction(store, work);
  }
  static std::string name_of(const std::string& branch) {
    return branch == "main" ? "shop.things" : "shop@" + branch + ".things";
  }
  // Inserts a document, changes it or removes it.
  void write(const std::string& branch) {
    write(branch, static_cast<int>(random.below(40)), random.below(3) == 0, random.below(2) == 0);
  }
  // Removes the document if it is there and `removes` is set. `names`: the log only names the content. Returns the record that
  // has the document from now on, or 0.
  RecordId write(const std::string& branch, int id, bool removes, bool names = true) {
    const std::string ns = name_of(branch);
    const auto collection = store.catalog().open(ns);
    if (database && !has(branch)) return 0;
    const bson::Document document =
        json("{_id: " + std::to_string(id) + ", text: 'text " + std::to_string(random.below(texts)) + "'}");
    RecordId removed = 0, record = 0;
    change([&](Transaction& transaction) {
      LoggedEntry seen;
      const auto old = collection->find_id(transaction, document["_id"]);
      if (!old) {
        const auto stored = collection->insert(transaction, document);
        record = stored.id;
        seen = {.kind = LoggedEntry::Kind::has, .stamp = stored.generation, .record = record};
      } else if (removes) {
        seen = {.kind = LoggedEntry::Kind::removes, .stamp = transaction.next_stamp()};
        transaction.set_next_stamp(seen.stamp);
        collection->remove(transaction, *old, *collection->find(transaction, *old, nullptr));
        removed = *old;
      } else {
        const auto updated = collection->update(transaction, *old, *collection->find(transaction, *old, nullptr), document);
        record = updated.record;
        seen = {.kind = LoggedEntry::Kind::changes, .stamp = updated.generation, .record = record};
        log.keep(record, updated.generation);
      }
      if (names && record != 0) seen.kind = LoggedEntry::Kind::names;
      log.append(transaction, seen, ns, document);
    });
    if (removed != 0) keep(removed);
    return record;
  }
  bool has(const std::string& branch) {
    Transaction transaction(store, Transaction::Mode::read);
    return database->has(transaction, database->place(transaction, {.name = branch}), things->id());
  }
  void commit(const std::string& branch) {
    while (change([&](Transaction& transaction) { return database->prepare_commit(transaction, branch); })) {
    }
    change([&](Transaction& transaction) { database->commit(transaction, branch, {}); });
  }
  std::vector<Branch> branches() {
    Transaction transaction(store, Transaction::Mode::read);
    return database->branches().graph().branches(transaction);
  }
  std::string any_branch() {
    const auto all = branches();
    return all[random.below(all.size())].name;
  }
  Branch branch(const std::string& name) {
    Transaction transaction(store, Transaction::Mode::read);
    return database->branch(transaction, {.name = name});
  }
  void go_on(int steps) {
    for (int i = 0; i < steps; ++i) step();
  }
  void step() {
    const uint64_t dice = random.below(100);
    const std::string name = any_branch();
    if (dice < 80) return write(name);
    if (dice < 86) return commit(name);
    if (dice < 90 && branches().size() < 5) {
      const std::string made = "b" + std::to_string(++made_);
      if (dice < 89)
        change([&](Transaction& transaction) { database->create(transaction, made, {.name = name}); });
      else
        change([&](Transaction& transaction) { database->create_empty(transaction, made, {.name = name}); });
      return;
    }
    if (dice < 91)
      return change([&](Transaction& transaction) { database->reset(transaction, name, {.name = any_branch()}, lost); });
    if (dice < 93)
      return change([&](Transaction& transaction) {
        const Branch at = database->branch(transaction, {.name = name});
        if (!database->make_collection(transaction, at, things->id()))
          database->drop_collection(transaction, at, things->id(), lost);
      });
    if (dice < 95) return take(name);
    if (dice < 97) return merge(name);
    if (name == BranchedDatabase::main) return;
    if (dice < 98) return change([&](Transaction& transaction) { database->drop(transaction, name, lost); });
    change([&](Transaction& transaction) { database->rename(transaction, name, "b" + std::to_string(++made_)); });
  }
  // The log keeps the contents of a record that is gone.
  void keep(RecordId record) {
    Transaction transaction(store, Transaction::Mode::read);
    if (!things->records().generation_not_after(transaction, record, ~Stamp{0}, true)) log.keep(record, ~Stamp{0});
  }
  // Replaces what the branch has, as $out does.
  void take(const std::string& into) {
    change([&](Transaction& transaction) { database->create_empty(transaction, "tmp", {.name = into}); });
    change([&](Transaction& transaction) {
      database->make_collection(transaction, database->branch(transaction, {.name = "tmp"}), things->id());
    });
    for (int i = 0; i < 6; ++i) write("tmp");
    change([&](Transaction& transaction) {
      database->take_collection(transaction, database->branch(transaction, {.name = into}),
                                database->branch(transaction, {.name = "tmp"}), things->id(), lost);
      database->drop(transaction, "tmp", lost);
    });
    database->forget_views("tmp");
  }
  void merge(const std::string& into) {
    const std::string from = any_branch();
    commit(into);
    commit(from);
    change([&](Transaction& transaction) {
      const CommitNumber theirs = database->place(transaction, {.name = from}).commit;
      database->merge(transaction, into, {.from = theirs, .resolve = whole_documents(Prefer::ours)}, {});
    });
  }

  void purge(int id) {
    change([&](Transaction& transaction) {
      const bson::Document document = json("{_id: " + std::to_string(id) + "}");
      database->purge(transaction, "things", document["_id"], lost);
    });
  }
  // The keys of the purged documents that each commit's tree names. The state of a merge may name more, which nobody asks about.
  std::map<CommitNumber, std::set<Bytes>> purged() {
    std::map<CommitNumber, std::set<Bytes>> all;
    Transaction transaction(store, Transaction::Mode::read);
    const Branches& branches = database->branches();
    for (const auto& [number, node] : branches.graph().graph(transaction)) {
      const auto commit = branches.graph().commit(transaction, number);
      const CollectionState* const of = commit->state_of(things->id());
      if (node.dropped || !of || !commit->root_of(*of)) continue;  // no tree names anything
      BranchStore& versions = database->branches().store(0);
      for (Bytes& key : versions.purged_of(transaction, of->state).keys) {
        const bool inserted_again = versions.find(transaction, {.state = of->state}, key) != 0;
        if (!inserted_again && branches.roots().find(transaction, *commit->root_of(*of), key)) all[number].insert(std::move(key));
      }
    }
    return all;
  }
  bool has_content(RecordId record) {
    Transaction transaction(store, Transaction::Mode::read);
    return database->branches().store(0).content(transaction, record).has_value();
  }
  // Loses so many documents of main's last commit. Returns their keys.
  std::set<Bytes> lose_records(size_t count) {
    std::set<Bytes> keys;
    const Branch main = branch("main");
    BranchStore& versions = database->branches().store(0);
    change([&](Transaction& transaction) {
      const View view{.state = database->branches().view(transaction, main.head, 0).state};
      std::map<Bytes, RecordId> shown;
      for (const auto scan = versions.scan(transaction, view); scan->next();)
        shown.emplace(key_of(scan->content()), scan->record());
      const storage::StoreTables& tables = things->records().state().chains.tables();
      while (keys.size() < count && !shown.empty()) {
        const auto one = std::next(shown.begin(), static_cast<int64_t>(random.below(shown.size())));
        tables.records.remove(transaction, storage::record_key(one->second));
        tables.heads.remove(transaction, storage::record_key(one->second));
        keys.insert(one->first);
        shown.erase(one);
      }
    });
    return keys;
  }

  storage::Table pending() { return storage::Table(database->branches().store(0).pending_table()); }
  Rows rows() {
    Rows rows;
    Transaction transaction(store, Transaction::Mode::read);
    TableCursor cursor = pending().cursor(transaction);
    while (cursor.next()) rows.emplace(cursor.key(), cursor.value());
    return rows;
  }
  size_t lose(const std::function<bool()>& gone) {
    std::vector<Bytes> keys;
    for (const auto& [key, row] : rows())
      if (gone()) keys.push_back(key);
    storage::in_transaction(store, [&](Transaction& transaction) {
      for (const Bytes& key : keys) pending().remove(transaction, key);
    });
    return keys.size();
  }
  storage::VersionRepair::Pending mend(bool with_log = true) {
    PendingToMend mend{.engine = store.engine(),
                       .branches = database->branches(),
                       .shared = *database->versions_of(things->id()),
                       .database = "shop",
                       .log = with_log ? &log : nullptr};
    {
      Transaction transaction(store, Transaction::Mode::read);
      for (auto cursor = things->records().cursor(transaction); cursor.next();) mend.there.push_back(cursor.id());
      for (const auto& [number, node] : database->branches().graph().graph(transaction))
        if (!node.dropped) mend.states.insert(database->branches().view(transaction, number, 0).state);
    }
    return mend_pending(mend, pending(), false);
  }
  storage::RepairReport repair() {
    const auto versions = database->version_repair(store.engine(), things->id(), &log);
    const auto no_copies = [](const storage::Collection&, RecordId, Stamp) { return std::nullopt; };
    return storage::repair_collection(store, things, false, no_copies, versions.get());
  }
  std::map<std::string, std::map<Bytes, Bytes>> documents() {
    std::map<std::string, std::map<Bytes, Bytes>> all;
    for (const Branch& branch : branches()) {
      const auto collection = store.catalog().open(name_of(branch.name));
      auto& documents = all[branch.name];
      if (!collection) continue;
      Transaction transaction(store, Transaction::Mode::read);
      const auto scan = collection->scan(transaction, storage::Direction::forward);
      while (scan->next()) documents.emplace(key_of(scan->document().bytes()), scan->document().bytes());
    }
    return all;
  }

  base::Random random;
  storage::TemporaryDirectory directory;
  storage::Store store;
  Recorded log;
  uint64_t texts = 1000;  // so many different ones are written
  const BranchedDatabase::Lost lost = [this](Transaction&, storage::CollectionId, RecordId record, Stamp, BytesView) {
    log.keep(record, ~Stamp{0});
  };
  past::Past past;
  Databases databases;
  std::shared_ptr<storage::Collection> things;
  std::shared_ptr<BranchedDatabase> database;

 private:
  int made_ = 0;
};

}  // namespace

TEST_CASE("what branches show beyond their last commits is made again from the log, whichever rows are lost") {
  Branched shop;
  for (int round = 0; round < 40; ++round) {
    shop.go_on(40);
    const Rows rows = shop.rows();
    const uint64_t each = 1 + shop.random.below(4);
    const size_t gone = shop.lose([&] { return shop.random.below(each) == 0; });
    INFO("round " << round << ", " << rows.size() << " rows, " << gone << " lost");
    const storage::VersionRepair::Pending mended = shop.mend();
    CHECK(mended.partial.empty());
    CHECK(mended.lost.empty());
    CHECK(mended.nobodys.empty());
    CHECK(mended.made == static_cast<int64_t>(gone));
    REQUIRE(shop.rows() == rows);
  }
}

TEST_CASE("what branches show is made again although entries of _id are lost too") {
  Branched shop;
  for (int round = 0; round < 8; ++round) {
    shop.go_on(60);
    const Rows rows = shop.rows();
    std::vector<Bytes> entries;
    const storage::Table table(shop.database->branches().store(0).table_names().front());
    storage::in_transaction(shop.store, [&](Transaction& transaction) {
      TableCursor cursor = table.cursor(transaction);
      while (cursor.next()) entries.emplace_back(cursor.key());
    });
    storage::in_transaction(shop.store, [&](Transaction& transaction) {
      for (const Bytes& entry : entries)
        if (shop.random.below(3) != 0) table.remove(transaction, entry);
    });
    shop.lose([] { return true; });
    const storage::VersionRepair::Pending mended = shop.mend();
    CHECK(mended.lost.empty());
    REQUIRE(shop.rows() == rows);
    CHECK(shop.repair().inserted_keys > 0);
  }
}

TEST_CASE("of a branch whose writes the log doesn't have all, what was added is found by its record's segment") {
  size_t partial = 0;
  for (int round = 0; round < 16; ++round) {
    Branched shop(base::testing::seed() + static_cast<uint64_t>(round));
    shop.go_on(150);
    const Rows rows = shop.rows();
    const size_t entries = shop.log.entries.size();
    shop.log.begins_at = entries - shop.random.below(entries / 2);
    if (round % 4 == 1) shop.log.hole_at = shop.log.begins_at + (entries - shop.log.begins_at) / 2;
    const uint64_t each = 1 + shop.random.below(2);
    shop.lose([&] { return shop.random.below(each) == 0; });
    const storage::VersionRepair::Pending mended = shop.mend(round % 4 != 2);
    CHECK(mended.lost.empty());
    std::map<BranchId, std::string> names;
    for (const Branch& branch : shop.branches()) names[branch.id] = branch.name;
    const auto is_partial = [&](BranchId branch) {
      return std::find(mended.partial.begin(), mended.partial.end(), names.at(branch)) != mended.partial.end();
    };
    const Rows now = shop.rows();
    for (const auto& [key, row] : now) {
      const PendingRow parsed = parse_pending_row(key, row).value();
      const auto before = rows.find(key);
      if (before == rows.end()) {
        // The collection was dropped and created anew on the branch, and nothing says that any more.
        const auto listing = rows.find(pending_key(parsed.branch, listing_at));
        CHECK(row.front() == static_cast<char>(PendingKind::removed));
        CHECK(is_partial(parsed.branch));
        REQUIRE(listing != rows.end());
        CHECK(hides(static_cast<Listing>(listing->second.front())));
        continue;
      }
      CHECK(before->second.front() == row.front());
      if (!is_partial(parsed.branch)) CHECK(before->second == row);
    }
    for (const auto& [key, row] : rows) {
      if (now.contains(key)) continue;
      const PendingRow parsed = parse_pending_row(key, row).value();
      CHECK(is_partial(parsed.branch));
      if (parsed.kind != static_cast<char>(PendingKind::added)) continue;
      CHECK(std::find(mended.nobodys.begin(), mended.nobodys.end(), parsed.record) != mended.nobodys.end());
    }
    partial += mended.partial.size();
  }
  CHECK(partial > 0);
}

TEST_CASE("without a log, removals are lost, and so is which branch wrote what lies in a segment that no branch goes on with") {
  Branched shop;
  for (int id = 0; id < 4; ++id)
    if (shop.write("main", id, false) == 0) shop.write("main", id, false);
  shop.commit("main");
  const auto before = shop.documents();
  const RecordId changed = shop.write("main", 0, false);
  shop.write("main", 1, true);
  const auto written = shop.documents();

  // No other branch can have written the record, even if main writes into another segment by now.
  shop.change([&](Transaction& transaction) { shop.database->create(transaction, "dev", {.name = "main"}); });
  shop.change([&](Transaction& transaction) { shop.database->drop(transaction, "dev", shop.lost); });
  CHECK(shop.lose([] { return true; }) == 3);
  storage::VersionRepair::Pending mended = shop.mend(false);
  CHECK(mended.made == 2);
  CHECK(mended.partial == std::vector<std::string>{"main"});
  CHECK(mended.nobodys.empty());
  auto now = shop.documents();
  CHECK(now.at("main").erase(key_of(json("{_id: 1}").bytes())) == 1);
  CHECK(now == written);

  shop.change([&](Transaction& transaction) { shop.database->create(transaction, "dev", {.name = "main"}); });
  const RecordId added = shop.write("dev", 100, false);
  const auto dev = shop.documents().at("dev");
  shop.lose([] { return true; });
  mended = shop.mend(false);
  CHECK(mended.partial == std::vector<std::string>{"dev", "main"});
  CHECK(mended.nobodys == std::vector<RecordId>{changed});
  now = shop.documents();
  CHECK(now.at("dev") == dev);
  CHECK(now.at("main") == before.at("main"));
  CHECK(shop.rows().contains(pending_key(shop.branch("dev").id, added)));
}

TEST_CASE("a document that a branch has beyond its last commit, and whose record and entry are lost, is counted") {
  Branched shop;
  shop.write("main", 100, false, false);
  const RecordId record = shop.write("main", 101, false, false);
  shop.change([&](Transaction& transaction) {
    const storage::StoreTables& tables = shop.things->records().state().chains.tables();
    tables.records.remove(transaction, storage::record_key(record));
    tables.heads.remove(transaction, storage::record_key(record));
    Bytes entry = key_of(json("{_id: 101}").bytes());
    base::append_be64(entry, static_cast<uint64_t>(record));
    CHECK(storage::Table(shop.database->branches().store(0).table_names().front()).remove(transaction, entry));
  });
  shop.lose([] { return true; });
  CHECK(shop.mend().lost == std::map<std::string, int64_t>{{"main", 1}});
}

TEST_CASE("what was purged is known again, whichever rows are lost") {
  size_t purged_rows = 0;
  // The first commit has no tree, so nothing tells the keys of what it alone names.
  for (const bool of_first_commit : {false, true}) {
    Branched shop;
    shop.texts = 1'000'000'000;  // a content isn't written twice
    const auto id = [&] { return static_cast<int>(of_first_commit ? shop.random.below(50) : 40 + shop.random.below(10)); };
    for (int round = 0; round < 20; ++round) {
      shop.go_on(30);
      for (int i = 0; i < 12; ++i) shop.write(shop.any_branch(), id(), false);
      if (shop.random.below(2) == 0) shop.commit("main");
      for (int i = 0; i < 3; ++i) shop.purge(id());
      shop.go_on(10);
      const Rows rows = shop.rows();
      const auto purged = shop.purged();
      std::set<RecordId> gone;
      for (const auto& [key, row] : rows) {
        const RecordId record = parse_pending_row(key, row)->record;
        if (record != listing_at && !shop.has_content(record)) gone.insert(record);
      }
      purged_rows += gone.size();
      const uint64_t each = 1 + shop.random.below(4);
      shop.lose([&] { return shop.random.below(each) == 0; });
      INFO("round " << round << (of_first_commit ? ", with the first commit" : ""));
      const storage::VersionRepair::Pending mended = shop.mend();
      CHECK(mended.lost.empty());
      REQUIRE(shop.purged() == purged);
      const Rows now = shop.rows();
      for (const auto& [key, row] : now) {
        const PendingRow parsed = parse_pending_row(key, row).value();
        if (parsed.branch != BranchId::none) CHECK(rows.contains(key));
      }
      for (const auto& [key, row] : rows) {
        // A purged record needs no row that hides it, and if no commit names it, no row that says that it was purged.
        const PendingRow parsed = parse_pending_row(key, row).value();
        if (!now.contains(key)) CHECK((parsed.branch == BranchId::none || gone.contains(parsed.record)));
      }
      const auto documents = shop.documents();
      const storage::RepairReport report = shop.repair();
      if (!of_first_commit) CHECK(report.lost.empty());
      CHECK(shop.documents() == documents);
    }
  }
  CHECK(purged_rows > 0);
}

TEST_CASE("a purged document that was written twice with the same content is known again") {
  Branched shop;
  shop.texts = 1;
  for (const bool removes : {false, true, false, true, false}) {
    shop.write("main", 100, removes);
    shop.write("main", 101, removes);
    shop.commit("main");
  }
  shop.purge(100);
  const auto purged = shop.purged();
  CHECK(purged.size() == 3);
  shop.lose([] { return true; });
  CHECK(shop.mend().purged.size() == 3);
  CHECK(shop.purged() == purged);
}

TEST_CASE("a lost document is not taken for one that was purged") {
  for (int round = 0; round < 12; ++round) {
    Branched shop(base::testing::seed() + static_cast<uint64_t>(round));
    shop.go_on(60);
    for (int i = 40; i < 50; ++i) shop.write("main", i, false);
    shop.commit("main");
    for (int i = 40; i < 44; ++i) shop.purge(i);
    const auto purged = shop.purged();
    const auto lost = shop.lose_records(3);
    shop.lose([] { return true; });
    INFO("round " << round);
    shop.mend();
    std::set<std::string> reported;
    for (const std::string& document : shop.repair().lost) reported.insert(document.substr(0, document.find(" (record")));
    const auto is_lost = [&](const Bytes& key) {
      return reported.contains("document " + bson::to_shell(bson::id_of_key(key).value_or(bson::Document())));
    };
    // Other documents may depend on these, and the repair rebuilds some from chains.
    const auto is_there = [&](const Bytes& key) {
      Transaction transaction(shop.store, Transaction::Mode::read);
      const View view{.state = shop.database->branches().view(transaction, shop.branch("main").head, 0).state};
      return shop.database->branches().store(0).get(transaction, view, key).has_value();
    };
    for (const Bytes& key : lost) CHECK(is_lost(key) != is_there(key));
    for (int id = 40; id < 44; ++id) CHECK(!is_lost(key_of(json("{_id: " + std::to_string(id) + "}").bytes())));
    // They are gone as well from here on.
    const auto but_lost = [&](auto named) {
      for (auto& [commit, keys] : named) std::erase_if(keys, is_lost);
      std::erase_if(named, [](const auto& one) { return one.second.empty(); });
      return named;
    };
    REQUIRE(but_lost(shop.purged()) == but_lost(purged));
  }
}
