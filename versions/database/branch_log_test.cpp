// Changes of branches are logged and replayed on another member: it must come to the same commits, by their ids, even if it has
// more by then than the member where they were made had.
#include <catch2/catch.hpp>

#include "base/random.h"
#include "base/testing.h"
#include "bson/json.h"
#include "storage/testing/temporary_store.h"
#include "versions/branch/test_repository.h"
#include "versions/database/databases.h"

using namespace versions;
using bson::json;

namespace {

// Everything that is logged, as a list of changes. `documents` belongs to the next command.
struct Logged final : storage::BranchLog {
  struct Document {
    std::string ns;
    std::optional<bson::Document> before, after;
  };
  struct Change {
    bson::Document command;
    std::vector<Document> documents;
  };
  void branches_changed(Transaction& transaction, std::string_view, bson::DocumentView command) override {
    replayed = transaction.replayed();
    changes.push_back({bson::Document(command), std::move(documents)});
    documents.clear();
  }
  Stamp document_changed(Transaction& transaction, std::string_view ns, BytesView, const bson::DocumentView* before,
                         const bson::DocumentView* after) override {
    Document& document = documents.emplace_back(Document{std::string(ns), {}, {}});
    if (before) document.before = bson::Document(*before);
    if (after) document.after = bson::Document(*after);
    return transaction.next_stamp();
  }
  void document_replaced(Transaction&, storage::CollectionId, RecordId, Stamp, bson::DocumentView before) override {
    replaced.push_back(bson::Document(before));
  }
  void content_lost(Transaction&, storage::CollectionId, RecordId, const storage::Superseded&) override { ++lost; }

  std::vector<Change> changes;
  std::vector<Document> documents;
  std::vector<bson::Document> replaced;               // what documents were that merges changed, here and where they are replayed
  const storage::ReplayedChange* replayed = nullptr;  // what the last transaction replayed
  int lost = 0;
};

// The log of these tests takes the entries of replays as it takes others; it only checks that a replay says that it is one.
struct Replayed final : storage::ReplayedChange {
  void append(Transaction&, std::string_view, BytesView, bson::DocumentView) const override {}
};

constexpr char uuid[] = "0123456789abcdef";

struct Member {
  Member() : store(storage::test_options(directory.path())), past(store), databases(store, past, &logged) {
    store.catalog().create("shop.things", {}, uuid);
    store.catalog().create_indexes(store.catalog().open("shop.things"),
                                   {storage::parse_index_spec(json("{key: {u: 1}, name: 'u', unique: true}"))});
  }
  BranchedDatabase& shop() { return *databases.find("shop"); }
  void change(const std::function<void(Transaction&)>& work) { storage::in_transaction(store, work); }

  // Returns the write's timestamp. `given`: the timestamp that it had on the member where it was made.
  Stamp put(Transaction& transaction, const std::string& ns, const bson::Document& document, Stamp given = 0) {
    const auto things = store.catalog().open(ns);
    REQUIRE(things);
    transaction.set_next_stamp(given);
    const auto record = things->find_id(transaction, document["_id"]);
    if (!record) return things->insert(transaction, document).generation;
    return things->update(transaction, *record, *things->find(transaction, *record), document).generation;
  }
  Stamp remove(Transaction& transaction, const std::string& ns, const bson::Document& id, Stamp given = 0) {
    const auto things = store.catalog().open(ns);
    const auto record = things->find_id(transaction, id["_id"]);
    REQUIRE(record);
    const Stamp stamp = given != 0 ? given : transaction.next_stamp();
    transaction.set_next_stamp(stamp);
    things->remove(transaction, *record, *things->find(transaction, *record));
    return stamp;
  }
  // Replays what the other one logged and this one hasn't.
  void follow(const Member& other) {
    while (logged.changes.size() < other.logged.changes.size()) {
      const Logged::Change& made = other.logged.changes[logged.changes.size()];
      std::vector<storage::BranchChange> changes{{made.command.view(), {}}};
      std::vector<bson::Document> ids;
      ids.reserve(made.documents.size());
      for (const Logged::Document& one : made.documents) {
        if (one.after) {
          changes[0].documents.push_back({one.before ? 'u' : 'i', one.ns, one.after->view()});
        } else {
          bson::Builder id;
          id.append("_id", static_cast<bson::ValueView>(one.before->view()["_id"]));
          changes[0].documents.push_back({'d', one.ns, ids.emplace_back(id.done()).view()});
        }
      }
      databases.replay("shop", changes, replayed);
      REQUIRE(logged.replayed == &replayed);
      REQUIRE(logged.changes.back().command.bytes() == made.command.bytes());
      REQUIRE(logged.changes.back().documents.empty());  // the log has them already
    }
    REQUIRE(logged.replaced.size() == other.logged.replaced.size());
    for (size_t i = 0; i < logged.replaced.size(); ++i) REQUIRE(logged.replaced[i].bytes() == other.logged.replaced[i].bytes());
  }
  std::map<std::string, std::string> documents(const std::string& ns) {
    std::map<std::string, std::string> found;
    Transaction transaction(store, Transaction::Mode::read);
    const auto scan = store.catalog().open(ns)->scan(transaction, storage::Direction::forward);
    while (scan->next())
      found[bson::to_json(static_cast<bson::ValueView>(scan->document()["_id"]))] = bson::to_json(scan->document());
    return found;
  }

  storage::TemporaryDirectory directory;
  storage::Store store;
  Logged logged;
  Replayed replayed;
  past::Past past;
  Databases databases;
};

void require_same(Member& a, Member& b, const std::vector<std::string>& refs) {
  for (const std::string& ref : refs) REQUIRE(a.documents("shop" + ref + ".things") == b.documents("shop" + ref + ".things"));
  Transaction in_a(a.store, Transaction::Mode::read), in_b(b.store, Transaction::Mode::read);
  const auto branches = a.shop().branches().graph().branches(in_a);
  REQUIRE(branches.size() == b.shop().branches().graph().branches(in_b).size());
  for (const Branch& branch : branches) {
    const Branch other = b.shop().branch(in_b, {.name = branch.name});
    CHECK(a.shop().branches().graph().commit(in_a, branch.head)->id == b.shop().branches().graph().commit(in_b, other.head)->id);
    CHECK(a.shop().has_pending(in_a, branch.id) == b.shop().has_pending(in_b, other.id));
  }
}

}  // namespace

TEST_CASE("a replayed commit leaves out what was open when it was made, though it is there by now") {
  Member a, b;
  const auto both = [&](const std::string& ns, const bson::Document& document) {
    Stamp stamp = 0;
    a.change([&](Transaction& transaction) { stamp = a.put(transaction, ns, document); });
    b.change([&](Transaction& transaction) { b.put(transaction, ns, document, stamp); });
  };
  for (int id = 0; id < 5; ++id) both("shop.things", json("{_id: " + std::to_string(id) + ", u: " + std::to_string(id) + "}"));
  a.databases.find_or_begin("shop", {.time_ms = 5, .metadata = "first"});
  a.change([&](Transaction& transaction) { a.shop().create(transaction, "dev", {.name = "main"}); });
  b.follow(a);
  both("shop@dev.things", json("{_id: 10, u: 10}"));

  const std::string ns = "shop@dev.things";
  const bson::Document fresh = json("{_id: 11, u: 11}"), changed = json("{_id: 1, u: 100}"), gone = json("{_id: 2}"),
                       early = json("{_id: 12, u: 12}");
  Transaction open(a.store, Transaction::Mode::write);
  open.expect_stamps(3);
  const Stamp one = a.put(open, ns, fresh), two = a.put(open, ns, changed), three = a.remove(open, ns, gone);
  both(ns, early);  // its timestamp is later, and it commits first
  std::shared_ptr<const Commit> commit;
  a.change([&](Transaction& transaction) { commit = a.shop().commit(transaction, "dev", {.time_ms = 7, .metadata = "second"}); });
  open.commit();
  // In the order of the log, the open transaction's writes come first.
  b.change([&](Transaction& transaction) {
    b.put(transaction, ns, fresh, one);
    b.put(transaction, ns, changed, two);
    b.remove(transaction, ns, gone, three);
  });
  b.follow(a);
  const std::string past = "@" + base::to_hex(view(commit->id));
  CHECK(a.documents("shop" + past + ".things").contains("12"));
  CHECK(!a.documents("shop" + past + ".things").contains("11"));
  require_same(a, b, {"", "@dev", past});
  a.change([&](Transaction& transaction) { a.shop().commit(transaction, "dev", {.time_ms = 9, .metadata = "third"}); });
  b.follow(a);
  require_same(a, b, {"", "@dev", past});
}

TEST_CASE("merges are replayed without planning: what was adopted is adopted, what was written is written") {
  Member a, b;
  base::Random random(base::testing::seed());
  const auto put = [&](const std::string& ns, const bson::Document& document) {
    Stamp stamp = 0;
    a.change([&](Transaction& transaction) { stamp = a.put(transaction, ns, document); });
    b.change([&](Transaction& transaction) { b.put(transaction, ns, document, stamp); });
  };
  const auto drop = [&](const std::string& ns, int id) {
    const bson::Document key = json("{_id: " + std::to_string(id) + "}");
    Stamp stamp = 0;
    if (!a.documents(ns).contains(std::to_string(id))) return;
    a.change([&](Transaction& transaction) { stamp = a.remove(transaction, ns, key); });
    b.change([&](Transaction& transaction) { b.remove(transaction, ns, key, stamp); });
  };
  for (int id = 0; id < 30; ++id)
    put("shop.things", json("{_id: " + std::to_string(id) + ", u: " + std::to_string(id) + ", x: 0, y: 0}"));
  a.databases.find_or_begin("shop", {.time_ms = 1, .metadata = {}});
  a.change([&](Transaction& transaction) { a.shop().create(transaction, "dev", {.name = "main"}); });
  b.follow(a);
  int64_t time = 2;
  for (int round = 0; round < 8; ++round) {
    for (const char* const ns : {"shop.things", "shop@dev.things"}) {
      const bool main = std::string_view(ns) == "shop.things";
      for (int writes = 0; writes < 12; ++writes) {
        const int id = static_cast<int>(random.below(40));
        if (random.below(4) == 0)
          drop(ns, id);
        else
          put(ns, json("{_id: " + std::to_string(id) + ", u: " + std::to_string(id) + ", " + (main ? "x" : "y") + ": " +
                       std::to_string(random.below(1000)) + "}"));
      }
      // The other member may have another option by then: the commit must not depend on it.
      const char* const trees[] = {"{commits: {}}", "{commits: {tree: 'patriciaTrie'}}",
                                   "{commits: {tree: 'bucketTree', buckets: 9}}", "{commits: {tree: 'bucketTree', buckets: 30}}"};
      a.store.catalog().alter_options(a.store.catalog().open("shop.things"), json(trees[random.below(4)]));
      if (random.below(2) == 0) {
        bool more = true;
        while (more)
          a.change([&](Transaction& transaction) { more = a.shop().prepare_commit(transaction, main ? "main" : "dev"); });
      }
      a.change([&](Transaction& transaction) {
        a.shop().commit(transaction, main ? "main" : "dev", {.time_ms = ++time, .metadata = {}});
      });
      b.follow(a);
    }
    const bool there = random.below(2) == 0, both = random.below(2) == 0;
    const std::string into = there ? "main" : "dev", from = there ? "dev" : "main";
    const auto request_now = [&](Transaction& transaction) {
      BranchedDatabase::MergeRequest request{.from = a.shop().branch(transaction, {.name = from}).head,
                                             .resolve = fields(Prefer::theirs)};
      if (both) request.with = from;
      return request;
    };
    if (random.below(2) == 0) {
      a.store.catalog().alter_options(a.store.catalog().open("shop.things"),
                                      json("{commits: {tree: 'bucketTree', buckets: 20}}"));
      bool more = true;
      while (more)
        a.change([&](Transaction& transaction) {
          more = a.shop().prepare_merge(transaction, {.name = into}, request_now(transaction));
        });
    }
    a.change([&](Transaction& transaction) {
      const BranchedDatabase::MergeRequest request = request_now(transaction);
      const auto merge = a.shop().merge(transaction, into, request, {.time_ms = ++time, .metadata = {}});
      REQUIRE(merge.conflicts.empty());
    });
    b.follow(a);
    require_same(a, b, {"", "@dev"});
    const auto stored = [](Member& member) {
      return dynamic_cast<storage::StoredCollection&>(*member.store.catalog().open("shop.things")).stored_records();
    };
    REQUIRE(stored(a) == stored(b));
  }
}

TEST_CASE("what goes over a branch's documents and is interrupted anywhere has changed nothing, and can be run again") {
  Member a, b;
  const auto change_both = [&](const std::function<Stamp(Member&, Transaction&, int id, Stamp given)>& write, int first,
                               int last) {
    std::vector<Stamp> stamps;
    a.change([&](Transaction& transaction) {
      stamps.clear();
      for (int id = first; id <= last; ++id) stamps.push_back(write(a, transaction, id, 0));
    });
    for (int id = first; id <= last; ++id)
      b.change([&](Transaction& transaction) { write(b, transaction, id, stamps[static_cast<size_t>(id - first)]); });
  };
  const auto put = [](Member& member, Transaction& transaction, int id, Stamp given) {
    const std::string text = std::to_string(id);
    return member.put(transaction, "shop@dev.things", json("{_id: " + text + ", u: " + text + "}"), given);
  };
  const auto remove = [](Member& member, Transaction& transaction, int id, Stamp given) {
    return member.remove(transaction, "shop@dev.things", json("{_id: " + std::to_string(id) + "}"), given);
  };
  a.databases.find_or_begin("shop", {.time_ms = 1, .metadata = {}});
  a.change([&](Transaction& transaction) { a.shop().create(transaction, "dev", {.name = "main"}); });
  b.follow(a);
  change_both(put, 1, 1200);
  a.change([&](Transaction& transaction) { a.shop().commit(transaction, "dev", {.time_ms = 2, .metadata = {}}); });
  b.follow(a);
  change_both(remove, 1, 1100);
  change_both(put, 2001, 3200);

  const auto nobody_asks = [](Transaction&, storage::CollectionId, RecordId, Stamp, BytesView) {};
  const auto changes = [&](Transaction& transaction) {
    const auto all = a.shop().changes(transaction, a.shop().branch(transaction, {.name = "dev"}));
    REQUIRE(all.size() == 1);
    CHECK((all[0].inserted == 1200 && all[0].modified == 0 && all[0].deleted == 1100));
  };
  const auto stored = [&] {
    return dynamic_cast<storage::StoredCollection&>(*a.store.catalog().open("shop.things")).stored_records();
  };
  const auto dev = a.documents("shop@dev.things");
  const int64_t records = stored();
  const auto keys_of_u = [&] {
    Transaction transaction(a.store, Transaction::Mode::read);
    const auto things = a.store.catalog().open("shop@dev.things");
    const auto cursor = things->scan(transaction, *things->index("u"), storage::Direction::forward);
    cursor->seek({});
    size_t count = 0;
    while (cursor->next()) ++count;
    return count;
  };
  const auto check = [&] {
    CHECK(a.documents("shop@dev.things") == dev);
    CHECK(a.documents("shop.things").empty());
    CHECK(stored() == records);
    CHECK(keys_of_u() == dev.size());
    Transaction transaction(a.store, Transaction::Mode::read);
    changes(transaction);
  };
  const auto advance = [&](Transaction& transaction) {
    const CommitNumber to = a.shop().branch(transaction, {.name = "dev"}).head;
    const auto merge = a.shop().advance(transaction, "main", to, {});
    CHECK(merge.conflicts.empty());
  };
  const auto stash = [&](Transaction& transaction) {
    const auto made = a.shop().stash(transaction, "dev", {.time_ms = 3, .metadata = {}}, nobody_asks);
    CHECK(made);
  };
  const auto reset = [&](Transaction& transaction) { a.shop().reset(transaction, "dev", {.name = "main"}, nobody_asks); };
  const auto looks = [&](const test::Work& work) {
    const Logged before = a.logged;
    const int count = test::interrupt_at_looks(a.store, work, check);
    a.logged = before;  // a log would have lost what was rolled back
    return count;
  };
  CHECK(looks(changes) >= 3);       // at rows, and at documents
  CHECK(looks(advance) >= 1200);    // at each document that it logs
  CHECK(looks(stash) >= 4);         // as a commit
  CHECK(looks(reset) >= 2 * 1200);  // at each document: for what belongs to it, and for itself

  a.change(advance);
  a.change(stash);
  b.follow(a);
  require_same(a, b, {"", "@dev"});
  CHECK(a.documents("shop@dev.things").size() == 1200);
}

TEST_CASE("the log of commits is in the same order wherever one of two lines came first") {
  Member a, b;
  a.databases.find_or_begin("shop", {.time_ms = 1, .metadata = {}});
  a.change([&](Transaction& transaction) { a.shop().create(transaction, "dev", {.name = "main"}); });
  b.follow(a);
  const size_t before = a.logged.changes.size();
  const std::pair<const char*, const char*> lines[] = {{"main", "shop.things"}, {"dev", "shop@dev.things"}};
  for (const auto& [branch, ns] : lines) {
    const bson::Document document = json("{_id: '" + std::string(branch) + "', u: '" + branch + "'}");
    Stamp stamp = 0;
    a.change([&](Transaction& transaction) { stamp = a.put(transaction, ns, document); });
    b.change([&](Transaction& transaction) { b.put(transaction, ns, document, stamp); });
    a.change([&, branch = branch](Transaction& transaction) {
      a.shop().commit(transaction, branch, {.time_ms = 2, .metadata = branch});
    });
  }
  for (const size_t at : {before + 1, before})
    b.databases.replay("shop", {{a.logged.changes[at].command.view(), {}}}, b.replayed);
  a.change([&](Transaction& transaction) {
    a.shop().merge(transaction, "main",
                   {.from = a.shop().branch(transaction, {.name = "dev"}).head, .resolve = fields(Prefer::theirs)},
                   {.time_ms = 3, .metadata = {}});
  });
  b.follow(a);
  const auto log_of = [](Member& member) {
    Transaction transaction(member.store, Transaction::Mode::read);
    Log log(member.shop().branches().graph(), transaction, member.shop().branch(transaction, {.name = "main"}).head);
    std::vector<Hash> ids;
    while (log.next()) ids.push_back(log.commit().id);
    return ids;
  };
  CHECK(log_of(a).size() == 4);
  CHECK(log_of(a) == log_of(b));
}

TEST_CASE("changes of names are replayed, and what does not fit is refused") {
  Member a, b;
  a.change([&](Transaction& transaction) { a.put(transaction, "shop.things", json("{_id: 1, u: 1}"), Stamp{1} << 32); });
  b.change([&](Transaction& transaction) { b.put(transaction, "shop.things", json("{_id: 1, u: 1}"), Stamp{1} << 32); });
  a.databases.find_or_begin("shop", {.time_ms = 5, .metadata = "first"});
  const BranchedDatabase::Lost lost = [](Transaction&, storage::CollectionId, RecordId, Stamp, BytesView) {};
  BranchedDatabase& shop = a.shop();
  a.change([&](Transaction& transaction) { shop.create(transaction, "dev", {.name = "main"}); });
  a.change([&](Transaction& transaction) { shop.create_tag(transaction, "v1", {.name = "dev"}); });
  a.change([&](Transaction& transaction) { shop.rename(transaction, "dev", "next"); });
  b.follow(a);
  Stamp stamp = 0;
  a.change([&](Transaction& transaction) { stamp = a.put(transaction, "shop@next.things", json("{_id: 2, u: 2}")); });
  b.change([&](Transaction& transaction) { b.put(transaction, "shop@next.things", json("{_id: 2, u: 2}"), stamp); });
  a.change([&](Transaction& transaction) { shop.reset(transaction, "next", {.name = "v1"}, lost); });
  a.change([&](Transaction& transaction) { shop.create(transaction, "short", {.name = "v1"}); });
  b.follow(a);
  CHECK(b.logged.lost == 1);
  require_same(a, b, {"", "@next", "@short", "@v1"});
  a.change([&](Transaction& transaction) { shop.drop(transaction, "short", lost); });
  a.change([&](Transaction& transaction) { shop.drop_tag(transaction, "v1"); });
  b.follow(a);
  require_same(a, b, {"", "@next"});

  a.change([&](Transaction& transaction) { shop.set_retention(transaction, {.newest = 1, .age_ms = {}}); });
  for (int i = 0; i < 4; ++i) {
    a.change([&](Transaction& transaction) {
      stamp = a.put(transaction, "shop.things", json("{_id: 1, u: " + std::to_string(10 + i) + "}"));
    });
    b.change([&](Transaction& transaction) {
      b.put(transaction, "shop.things", json("{_id: 1, u: " + std::to_string(10 + i) + "}"), stamp);
    });
    a.change(
        [&](Transaction& transaction) { shop.commit(transaction, "main", {.time_ms = 20 + i, .metadata = {}}, {"things"}); });
    b.follow(a);
  }
  a.change([&](Transaction& transaction) { CHECK(shop.sweep(transaction, {.newest = 1}, 100, lost).commits > 0); });
  b.follow(a);
  a.change([&](Transaction& transaction) {
    const Branch main = shop.branch(transaction, {.name = "main"}), next = shop.branch(transaction, {.name = "next"});
    shop.begin_merge(transaction, main, {next.head, json("{asked: 1}")});
    const auto sides =
        shop.merge_sides(transaction, main, Branches::MergeKind::merge, next.head, "things", key_of(json("{_id: 1}").bytes()));
    REQUIRE(sides);
    shop.decide(transaction, main, *sides, {.take = Decision::Take::theirs, .document = {}, .sides = hash_of(sides->view())});
  });
  b.follow(a);
  b.change([&](Transaction& transaction) {
    const Branch main = b.shop().branch(transaction, {.name = "main"});
    const auto open = b.shop().open_merge(transaction, main);
    REQUIRE(open);
    CHECK(open->from == b.shop().branch(transaction, {.name = "next"}).head);
    const auto decided = b.shop().decided(transaction, main);
    REQUIRE(decided.size() == 1);
    CHECK(decided.front().collection == "things");
  });
  a.change([&](Transaction& transaction) { shop.abort_merge(transaction, shop.branch(transaction, {.name = "main"})); });
  a.change([&](Transaction& transaction) { CHECK(shop.purge(transaction, "things", json("{_id: 1}")["_id"], lost) > 0); });
  b.follow(a);
  require_same(a, b, {"", "@next"});

  const auto refused = [&](const std::string& command) {
    const bson::Document document = json(command);
    CHECK_THROWS(b.databases.replay("shop", {{document.view(), {}}}, b.replayed));
  };
  refused("{forget: 'next'}");
  refused("{dropBranch: 'short'}");
  refused("{dropBranch: 1}");
  refused("{commit: 'next', time: 1}");
  refused("{beginBranches: 1}");
  CHECK_THROWS(b.databases.replay("other", {{b.logged.changes.back().command.view(), {}}}, b.replayed));
}
