// Commits of one store are packed and made in another one, which comes to the same ids; and so does a member that replays its
// log.
#include "versions/database/imported_commit.h"

#include <catch2/catch.hpp>

#include "base/random.h"
#include "base/testing.h"
#include "bson/json.h"
#include "storage/testing/temporary_store.h"
#include "versions/database/commit_packer.h"
#include "versions/database/commit_rows.h"
#include "versions/database/databases.h"
#include "versions/pack/pack_reader.h"

using namespace versions;
using bson::json;

namespace {

struct Logged final : storage::BranchLog {
  void branches_changed(Transaction&, std::string_view, bson::DocumentView command) override {
    changes.push_back({bson::Document(command), std::move(documents)});
    documents.clear();
  }
  Stamp document_changed(Transaction& transaction, std::string_view ns, BytesView, const bson::DocumentView* before,
                         const bson::DocumentView* after) override {
    documents.push_back({std::string(ns), before ? std::optional(bson::Document(*before)) : std::nullopt,
                         after ? std::optional(bson::Document(*after)) : std::nullopt});
    return transaction.next_stamp();
  }
  void document_replaced(Transaction&, storage::CollectionId, RecordId, Stamp, bson::DocumentView) override {}
  void content_lost(Transaction&, storage::CollectionId, RecordId, const storage::Superseded&) override {}

  struct Document {
    std::string ns;
    std::optional<bson::Document> before, after;
  };
  struct Change {
    bson::Document command;
    std::vector<Document> documents;
  };
  std::vector<Change> changes;
  std::vector<Document> documents;
};

struct Replayed final : storage::ReplayedChange {
  void append(Transaction&, std::string_view, BytesView, bson::DocumentView) const override {}
};

constexpr char uuid[] = "0123456789abcdef";

struct Site {
  Site() : store(storage::test_options(directory.path())), past(store), databases(store, past, &logged) {
    store.catalog().create("shop.things", {}, uuid);
  }
  void begin(const CommitInfo& info = {.time_ms = 1, .metadata = "m"}) { databases.find_or_begin("shop", info); }
  BranchedDatabase& shop() { return *databases.find("shop"); }
  VersionGraph& graph() { return shop().branches().graph(); }
  void change(const std::function<void(Transaction&)>& work) { storage::in_transaction(store, work); }

  // Without a branch's name it writes to the database, which has no branches before begin().
  void put(const std::string& branch, const bson::Document& document) {
    const auto things = store.catalog().open((branch.empty() ? "shop" : "shop@" + branch) + ".things");
    change([&](Transaction& transaction) {
      const auto record = things->find_id(transaction, document["_id"]);
      if (record)
        things->update(transaction, *record, *things->find(transaction, *record), document);
      else
        things->insert(transaction, document);
    });
  }
  void remove(const std::string& branch, int id) {
    const auto things = store.catalog().open("shop@" + branch + ".things");
    const bson::Document key = json("{_id: " + std::to_string(id) + "}");
    change([&](Transaction& transaction) {
      const auto record = things->find_id(transaction, key["_id"]);
      if (record) things->remove(transaction, *record, *things->find(transaction, *record));
    });
  }
  void purge(int id) {
    const bson::Document key = json("{_id: " + std::to_string(id) + "}");
    change([&](Transaction& transaction) {
      shop().purge(transaction, "things", key["_id"], [](Transaction&, storage::CollectionId, RecordId, Stamp, BytesView) {});
    });
  }
  void commit(const std::string& branch, int64_t time_ms, TreeKind kind = {}) {
    CommitInfo info{.time_ms = time_ms, .metadata = "made"};
    if (kind != TreeKind()) info.trees.emplace(uuid, kind);
    change([&](Transaction& transaction) { shop().commit(transaction, branch, info); });
  }

  Bytes pack(const std::vector<Hash>& known, bool deltas = true) {
    Transaction transaction(store, Transaction::Mode::read);
    CommitPacker packer(shop(), transaction, {.refs = refs_of(transaction, graph()), .known = known, .deltas = deltas});
    Bytes bytes;
    while (const auto piece = packer.next({})) bytes += piece->bytes;
    return bytes;
  }
  // Packs what a server with the other history needs, with so many commits of each ref.
  Bytes pack_for(Site& other, std::optional<uint64_t> depth) {
    Transaction transaction(store, Transaction::Mode::read);
    CommitPacker packer(
        shop(), transaction,
        {.refs = refs_of(transaction, graph()), .known = other.known(), .shallow = other.boundaries(), .depth = depth});
    Bytes bytes;
    while (const auto piece = packer.next({})) bytes += piece->bytes;
    return bytes;
  }
  std::vector<Hash> boundaries() {
    Transaction transaction(store, Transaction::Mode::read);
    std::vector<Hash> ids;
    for (const CommitNumber number : graph().boundaries(transaction)) ids.push_back(graph().commit(transaction, number)->id);
    return ids;
  }
  std::vector<Hash> known() {
    Transaction transaction(store, Transaction::Mode::read);
    return KnownCommits::of(transaction, graph());
  }
  std::optional<CommitNumber> find(const Hash& id) {
    Transaction transaction(store, Transaction::Mode::read);
    const auto number = graph().find(transaction, id);
    return number && !graph().absent(transaction, *number) ? number : std::nullopt;
  }

  // Returns the commit here on whose documents this one is made.
  CommitNumber parent_of(const pack::Commit& commit) {
    const Hash against = commit.against ? *commit.against : commit.parents.empty() ? Hash{} : commit.parents.front();
    if (against != Hash{}) return find(against).value();
    Transaction transaction(store, Transaction::Mode::read);
    return graph().graph(transaction).begin()->first;
  }
  // Returns the commit without its rows.
  ImportedCommit incoming_of(const pack::Commit& commit) {
    ImportedCommit incoming{.id = commit.id, .info = {.time_ms = commit.time_ms, .metadata = commit.metadata}};
    const auto missing = [&](const Hash& id) { return !find(id); };
    if (commit.against || commit.parents.empty() || std::any_of(commit.parents.begin(), commit.parents.end(), missing)) {
      incoming.info.graft.emplace(Graft{.parents = commit.parents, .collections = {}, .says_nothing = commit.parents.empty()});
      for (const pack::Root& root : commit.roots) incoming.info.graft->collections.push_back(root.uuid);
    } else if (commit.parents.size() == 2) {
      incoming.second_parent = find(commit.parents[1]).value();
    }
    for (const pack::Root& root : commit.roots) {
      incoming.roots.emplace_back(root.uuid, root.root);
      if (!root.tree.view().empty()) incoming.info.trees.emplace(root.uuid, read_tree_kind(root.tree));
    }
    return incoming;
  }

  // Returns how many commits were made.
  size_t import(Bytes bytes) {
    pack::PackReader reader([&] { return std::exchange(bytes, {}); });
    std::optional<ImportedCommit> incoming;
    CommitNumber parent = 0;
    size_t made = 0;
    const auto make = [&] {
      if (!incoming) return;
      const std::string name =
          "in" + std::to_string(base::to_hex(versions::view(incoming->id)).size()) + std::to_string(++branches);
      change([&](Transaction& transaction) {
        shop().create(transaction, name, {.name = base::to_hex(versions::view(graph().commit(transaction, parent)->id))});
      });
      bool more = true;
      while (more) change([&](Transaction& transaction) { more = shop().prepare_import(transaction, name, *incoming); });
      change([&](Transaction& transaction) { shop().import_commit(transaction, name, *incoming, {}); });
      databases.drop_branch(shop(), name);
      incoming.reset();
      ++made;
    };
    for (bool skips = false;;) {
      auto item = reader.next();
      if (auto* const row = std::get_if<pack::Row>(&item)) {
        if (skips) continue;
        incoming->changed.insert(uuid);
        incoming->rows.push_back({static_cast<ImportedRow::Kind>(row->kind), uuid, row->key, row->body});
        continue;
      }
      make();
      auto* const commit = std::get_if<pack::Commit>(&item);
      if (!commit) break;
      skips = find(commit->id).has_value();
      if (skips) continue;
      incoming = incoming_of(*commit);
      parent = parent_of(*commit);
    }
    change([&](Transaction& transaction) {
      for (const pack::Ref& ref : reader.header().refs)
        shop().put_tag(transaction, "from/" + ref.name,
                       graph().find(transaction, base::to_hex(versions::view(ref.commit))).value());
    });
    return made;
  }

  void follow(const Site& other) {
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
      REQUIRE(logged.changes.back().command.bytes() == made.command.bytes());
    }
  }

  std::map<std::string, std::string> documents(const Hash& commit) {
    std::map<std::string, std::string> found;
    Transaction transaction(store, Transaction::Mode::read);
    const auto things = store.catalog().open("shop@" + base::to_hex(versions::view(commit)) + ".things");
    const auto scan = things->scan(transaction, storage::Direction::forward);
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
  int branches = 0;
};

void require_same_commits(Site& a, Site& b) {
  std::vector<pack::Ref> refs;
  {
    Transaction transaction(a.store, Transaction::Mode::read);
    refs = refs_of(transaction, a.graph());
  }
  for (const pack::Ref& ref : refs) {
    REQUIRE(b.find(ref.commit).has_value());
    CHECK(a.documents(ref.commit) == b.documents(ref.commit));
    Transaction transaction(b.store, Transaction::Mode::read);
    const auto verified = b.shop().verify(transaction, *b.find(ref.commit), true, 10, {});
    CHECK(verified.damage.empty());
  }
}

bson::Document some_document(base::Random& random) {
  return json("{_id: " + std::to_string(random.below(30)) + ", a: " + std::to_string(random.below(5)) + ", text: '" +
              std::string(100 + random.below(200), static_cast<char>('a' + random.below(26))) + "'}");
}

}  // namespace

TEST_CASE("commits of a random history come to the same ids elsewhere, and where the log is replayed") {
  base::Random random(base::testing::seed());
  Site a, b, member;
  for (Site* site : {&a, &b}) site->begin();
  member.begin();
  a.change([&](Transaction& transaction) { a.shop().create(transaction, "dev", {.name = "main"}); });
  for (int64_t step = 0; step < 60; ++step) {
    const std::string branch = random.below(2) ? "main" : "dev", other = branch == "main" ? "dev" : "main";
    for (uint64_t i = 1 + random.below(6); i > 0; --i) {
      if (random.below(4) == 0)
        a.remove(branch, static_cast<int>(random.below(30)));
      else
        a.put(branch, some_document(random));
    }
    a.commit(branch, 100 + step, step > 40 ? TreeKind{.structure = merkle::Structure::patricia_trie} : TreeKind());
    a.commit(other, 100 + step);
    if (random.below(4) == 0) {
      a.change([&](Transaction& transaction) {
        const Branch from = a.shop().branch(transaction, {.name = other});
        a.shop().merge(transaction, branch,
                       {.from = from.head, .resolve = resolver({.prefer = random.below(2) ? Prefer::ours : Prefer::theirs})},
                       {.time_ms = 100 + step, .metadata = "merged"});
      });
    }
    if (random.below(5) != 0) continue;
    b.import(a.pack(b.known()));
    require_same_commits(a, b);
    member.follow(b);
    require_same_commits(a, member);
    CHECK(b.import(a.pack(b.known())) == 0);
  }
}

TEST_CASE("a history that comes in parts, older ones later, comes to the same commits, and so does one that follows") {
  base::Random random(base::testing::seed());
  Site a, b, member;
  a.begin();
  for (Site* site : {&b, &member}) site->begin({.time_ms = 0, .metadata = shallow_root_metadata()});
  a.change([&](Transaction& transaction) { a.shop().create(transaction, "dev", {.name = "main"}); });
  for (int64_t step = 0; step < 60; ++step) {
    const std::string branch = random.below(2) ? "main" : "dev", other = branch == "main" ? "dev" : "main";
    for (uint64_t i = 1 + random.below(6); i > 0; --i) {
      if (random.below(4) == 0)
        a.remove(branch, static_cast<int>(random.below(30)));
      else
        a.put(branch, some_document(random));
    }
    a.commit(branch, 100 + step, step > 40 ? TreeKind{.structure = merkle::Structure::patricia_trie} : TreeKind());
    a.commit(other, 100 + step);
    if (random.below(4) == 0) {
      a.change([&](Transaction& transaction) {
        const Branch from = a.shop().branch(transaction, {.name = other});
        a.shop().merge(transaction, branch,
                       {.from = from.head, .resolve = resolver({.prefer = random.below(2) ? Prefer::ours : Prefer::theirs})},
                       {.time_ms = 100 + step, .metadata = "merged"});
      });
    }
    if (random.below(5) != 0) continue;
    const bool deep = step == 0 || random.below(2) == 0;
    b.import(a.pack_for(b, deep ? std::optional(1 + random.below(12)) : std::nullopt));
    require_same_commits(a, b);
    member.follow(b);
    require_same_commits(a, member);
  }
  b.import(a.pack_for(b, UINT64_MAX));
  CHECK(b.boundaries().empty());
  CHECK(b.import(a.pack_for(b, UINT64_MAX)) == 0);
  member.follow(b);
  std::vector<Hash> all;
  {
    Transaction transaction(a.store, Transaction::Mode::read);
    for (const auto& [number, node] : a.graph().graph(transaction)) all.push_back(a.graph().commit(transaction, number)->id);
  }
  for (Site* site : {&b, &member}) {
    for (const Hash& id : all) {
      REQUIRE(site->find(id).has_value());
      CHECK(site->documents(id) == a.documents(id));
      Transaction transaction(site->store, Transaction::Mode::read);
      CHECK(site->shop().verify(transaction, *site->find(id), true, 10, {}).damage.empty());
      const Hash& with = all[random.below(all.size())];
      Transaction there(a.store, Transaction::Mode::read);
      const CommitNumber base = site->graph().common_ancestor(transaction, *site->find(id), *site->find(with));
      // If several ancestors are equally new, the sites may name different ones. What this site names is a common ancestor for
      // the other site, too, and the other's does not descend from it.
      const CommitNumber theirs = a.graph().common_ancestor(there, *a.find(id), *a.find(with));
      REQUIRE(base != 0);
      const CommitNumber ours_there = *a.find(site->graph().commit(transaction, base)->id);
      CHECK(a.graph().common_ancestor(there, ours_there, *a.find(id)) == ours_there);
      CHECK(a.graph().common_ancestor(there, ours_there, *a.find(with)) == ours_there);
      CHECK((ours_there == theirs || a.graph().common_ancestor(there, ours_there, theirs) != ours_there));
    }
  }
}

TEST_CASE("a commit that shows a purged document comes to its id without it") {
  Site a, b, member;
  for (Site* site : {&a, &b, &member}) site->begin();
  for (int i = 0; i < 4; ++i) a.put("main", json("{_id: " + std::to_string(i) + ", a: 1}"));
  a.commit("main", 100);
  a.put("main", json("{_id: 2, a: 2}"));
  a.commit("main", 101);
  a.purge(1);
  a.put("main", json("{_id: 3, a: 3}"));
  a.commit("main", 102);
  CHECK(b.import(a.pack(b.known())) == 3);
  member.follow(b);
  // A server that got the commits from there can pack them, too.
  Site c;
  c.begin();
  CHECK(c.import(member.pack(c.known())) == 3);
  for (Site* site : {&b, &member, &c}) {
    for (const Hash& commit : a.known()) {
      REQUIRE(site->find(commit).has_value());
      CHECK(site->documents(commit) == a.documents(commit));
      CHECK(site->documents(commit).count("1") == 0);
    }
    for (const auto& [commit, purged] : {std::pair(a.known()[2], 1), std::pair(a.known()[0], 0)}) {
      Transaction transaction(site->store, Transaction::Mode::read);
      const auto verified = site->shop().verify(transaction, *site->find(commit), true, 10, {});
      CHECK(verified.damage.empty());
      CHECK(verified.collections.at(0).purged == static_cast<uint64_t>(purged));
    }
  }
}

TEST_CASE("a document that was purged elsewhere is named once, until it comes again or goes") {
  base::Random random(base::testing::seed());
  Site a, b, c, member;
  for (Site* site : {&a, &b, &c, &member}) site->begin();
  for (int64_t step = 0; step < 60; ++step) {
    for (uint64_t i = 1 + random.below(4); i > 0; --i) {
      const auto id = static_cast<int>(random.below(8));
      if (random.below(3) == 0)
        a.remove("main", id);
      else
        a.put("main", json("{_id: " + std::to_string(id) + ", a: " + std::to_string(random.below(50)) + "}"));
    }
    a.commit("main", 100 + step);
    if (random.below(3) == 0) a.purge(static_cast<int>(random.below(8)));
    if (random.below(4) != 0) continue;
    b.import(a.pack(b.known(), false));
    member.follow(b);
    c.import(member.pack(c.known(), false));
    for (Site* site : {&b, &member, &c}) {
      for (const Hash& id : a.known()) {
        REQUIRE(site->find(id).has_value());
        Transaction transaction(site->store, Transaction::Mode::read);
        CHECK(site->shop().verify(transaction, *site->find(id), true, 10, {}).damage.empty());
      }
    }
  }
}

TEST_CASE("rows are the same, however many keys are held in memory") {
  using merkle::Structure;
  const TreeKind trie{.structure = Structure::patricia_trie}, five{Structure::bucket_tree, 5}, seven{Structure::bucket_tree, 7};
  base::Random random(base::testing::seed());
  Site site;
  for (int i = 0; i < 20; ++i) site.put("", json("{_id: " + std::to_string(100 + i) + "}"));
  site.begin();
  int64_t step = 0;
  for (const TreeKind& kind : {TreeKind(), TreeKind(), five, five, TreeKind(), trie, trie, seven, five, trie}) {
    for (int i = 0; i < 12; ++i) site.put("main", some_document(random));
    site.remove("main", 100 + static_cast<int>(step));
    site.commit("main", 100 + step++, kind);
  }
  Transaction transaction(site.store, Transaction::Mode::read);
  const auto rows = [&](CommitNumber commit, size_t keys_max) {
    CommitRows all(site.shop(), transaction, {.commit = commit, .keys_max = keys_max});
    std::map<Bytes, std::pair<std::optional<Bytes>, std::optional<Bytes>>> found;
    while (const auto row = all.next()) REQUIRE(found.emplace(row->key, std::pair(row->before, row->after)).second);
    return found;
  };
  for (const auto& [number, node] : site.graph().graph(transaction)) {
    const auto whole = rows(number, SIZE_MAX);
    CHECK(!whole.empty());
    for (const size_t keys_max : {1, 3, 12}) CHECK(rows(number, keys_max) == whole);
  }
  CommitRows stopped(site.shop(), transaction, {.commit = site.graph().branch(transaction, "main")->head});
  struct Stop {};
  CHECK_THROWS_AS(stopped.next([] { throw Stop(); }), Stop);
}

TEST_CASE("two imports of one commit that meet make it once") {
  Site a, b;
  for (Site* site : {&a, &b}) site->begin();
  a.put("main", json("{_id: 1, a: 1}"));
  a.commit("main", 100);
  Bytes bytes = a.pack(b.known());
  pack::PackReader reader([&] { return std::exchange(bytes, {}); });
  const auto commit = std::get<pack::Commit>(reader.next());
  const auto row = std::get<pack::Row>(reader.next());
  ImportedCommit incoming = b.incoming_of(commit);
  incoming.changed.insert(uuid);
  incoming.rows.push_back({static_cast<ImportedRow::Kind>(row.kind), uuid, row.key, row.body});
  // Both have asked whether the commit is there, and neither has found it.
  for (const char* name : {"one", "other", "third"})
    b.change([&](Transaction& transaction) { b.shop().create(transaction, name, {.name = "main"}); });
  std::vector<CommitNumber> made;
  for (const char* name : {"one", "other"}) {
    b.change([&](Transaction& transaction) { made.push_back(b.shop().import_commit(transaction, name, incoming, {})->number); });
  }
  b.put("third", json("{_id: 1, a: 1}"));
  b.change([&](Transaction& transaction) { made.push_back(b.shop().commit_imported(transaction, "third", incoming)->number); });
  CHECK(made == std::vector(3, made.front()));
}

TEST_CASE("a commit that makes a tree anew and changes nothing comes to its id") {
  const TreeKind kinds[] = {{}, {.structure = merkle::Structure::patricia_trie}, {merkle::Structure::bucket_tree, 60}};
  for (const TreeKind& before : kinds) {
    for (const TreeKind& after : kinds) {
      Site a, b, member;
      for (Site* site : {&a, &b, &member}) site->begin();
      for (int i = 0; i < 40; ++i) a.put("main", json("{_id: " + std::to_string(i) + ", a: 1}"));
      a.commit("main", 100, before);
      a.put("main", json("{_id: 2, a: 2}"));
      a.put("main", json("{_id: 2, a: 1}"));
      a.commit("main", 101, after);
      CHECK(b.import(a.pack(b.known())) == 2);
      require_same_commits(a, b);
      member.follow(b);
      require_same_commits(a, member);
    }
  }
}

TEST_CASE("a commit that names more than an entry of the log takes is refused") {
  Site site;
  site.begin();
  site.put("main", json("{_id: 1}"));
  site.commit("main", 100);
  ImportedCommit commit;
  for (int i = 0; i < 17; ++i)
    commit.rows.push_back({ImportedRow::Kind::remove, uuid, base::Bytes(1 << 20, static_cast<char>('a' + i))});
  try {
    site.change([&](Transaction& transaction) { site.shop().import_commit(transaction, "main", commit, {}); });
    FAIL("its entry could not be read");
  } catch (const base::OperationError& error) {
    CHECK(std::string(error.what()).find("names too many documents") != std::string::npos);
  }
}

TEST_CASE("a delta of a document that was purged here is refused, and the whole document is taken") {
  Site a, b;
  for (Site* site : {&a, &b}) site->begin();
  a.put("main", json("{_id: 1, text: '" + std::string(500, 'x') + "'}"));
  a.put("main", json("{_id: 2}"));
  a.commit("main", 100);
  b.import(a.pack(b.known()));
  b.purge(1);
  a.put("main", json("{_id: 1, text: '" + std::string(500, 'x') + "', more: 1}"));
  a.commit("main", 101);
  try {
    b.import(a.pack(b.known()));
    FAIL("a delta needs what was purged");
  } catch (const base::OperationError& error) {
    CHECK(error.code() == base::ErrorCode::operation_failed);
  }
  CHECK(b.import(a.pack(b.known(), false)) == 1);
  CHECK(b.documents(a.known().front()) == a.documents(a.known().front()));
}

TEST_CASE("a commit with another document than its root says is refused") {
  Site a, b;
  for (Site* site : {&a, &b}) site->begin();
  a.put("main", json("{_id: 1, a: 1}"));
  a.commit("main", 100);
  Bytes bytes = a.pack(b.known());
  pack::PackReader reader([&] { return std::exchange(bytes, {}); });
  pack::PackWriter writer(reader.header());
  for (;;) {
    auto item = reader.next();
    if (auto* const commit = std::get_if<pack::Commit>(&item)) {
      writer.add(*commit);
    } else if (auto* const row = std::get_if<pack::Row>(&item)) {
      row->body = json("{_id: 1, a: 2}").bytes();
      writer.add(*row);
    } else {
      break;
    }
  }
  writer.finish();
  try {
    b.import(writer.take());
    FAIL("the document isn't what the root says");
  } catch (const base::OperationError& error) {
    CHECK(error.code() == base::ErrorCode::failed_to_parse);
  }
  CHECK(!b.find(a.known().front()));
}
