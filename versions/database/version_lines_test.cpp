// These tests tell VersionLines a log, and ask which writes made which records.
#include "versions/database/version_lines.h"

#include <catch2/catch.hpp>

#include "bson/json.h"
#include "versions/branch/document_hash.h"

using namespace versions;
using bson::json;
using Kind = WantedVersion::Kind;
using Step = VersionLines::Step;

namespace {

constexpr char uuid[] = "0123456789abcdef";

Hash hash_of(char c) {
  Hash hash{};
  hash.fill(static_cast<uint8_t>(c));
  return hash;
}

// Documents have small numbers as `_id`s. Entries get ascending timestamps, each a transaction of its own unless the test says
// otherwise.
struct Told {
  explicit Told(std::vector<WantedVersion> wanted)
      : lines({"shop", uuid, 7}, with_keys(wanted), {{{101, key(1)}, {102, key(2)}}, others()}) {}
  static RecordSet others() {
    RecordSet records;
    records.add(103);
    return records;
  }

  static Bytes key(int id) { return key_of(json("{_id: " + std::to_string(id) + "}").bytes()); }
  static std::vector<WantedVersion> with_keys(std::vector<WantedVersion> wanted) {
    for (WantedVersion& one : wanted) one.key = key(1);
    return wanted;
  }
  Stamp write(LoggedEntry::Kind kind, const std::string& db, int id = 1) {
    const bson::Document with_id = json("{_id: " + std::to_string(id) + "}");
    const std::string ns = db + ".things";
    lines.meet({.kind = kind,
                .stamp = ++now,
                .transaction = transaction == 0 ? now : transaction,
                .ns = ns,
                .uuid = uuid,
                .collection = collection,
                .record = kind == LoggedEntry::Kind::names ? 100 + id : 0,
                .with_id = with_id});
    return now;
  }
  Stamp has(const std::string& db) { return write(LoggedEntry::Kind::has, db); }
  Stamp changes(const std::string& db) { return write(LoggedEntry::Kind::changes, db); }
  Stamp names(const std::string& db) { return write(LoggedEntry::Kind::names, db); }
  void removes(const std::string& db) { write(LoggedEntry::Kind::removes, db); }
  template <class Change>
  void command(const Change& change, const std::string& db = "shop") {
    const bson::Document command = change.encode();
    const std::string ns = db + ".$cmd";
    lines.meet({.stamp = ++now, .transaction = transaction == 0 ? now : transaction, .ns = ns, .command = command});
  }
  void create(const std::string& branch, char commit) { command(log::CreateBranch{.branch = branch, .commit = hash_of(commit)}); }
  void commit(const std::string& branch, char id, Held held = {}) {
    log::CommitBranch entry{.branch = branch, .held = std::move(held)};
    entry.made.id = hash_of(id);
    command(entry);
  }
  void merge(const std::string& into, char id, Stamp generation) {
    log::MergeBranch entry{.into = into, .from = hash_of('x'), .generation = generation};
    entry.made.id = hash_of(id);
    command(entry);
  }
  Stamp generation(RecordId record) {
    const auto found = lines.found().find(record);
    return found == lines.found().end() ? 0 : found->second.generation;
  }
  // The writes that make the record's content, the first one first.
  std::vector<Step> writes(RecordId record) {
    const std::vector<Step>& steps = lines.steps(key(1));
    std::vector<Step> all;
    for (std::optional<size_t> at = lines.found().at(record).step; at; at = steps[*at].before)
      all.insert(all.begin(), steps[*at]);
    return all;
  }

  VersionLines lines;
  storage::CollectionId collection = 7;
  Stamp now = 0, transaction = 0;
};

WantedVersion committed(RecordId record, char commit) {
  return {.record = record, .kind = Kind::committed, .commit = hash_of(commit)};
}
WantedVersion pending(RecordId record, const std::string& branch, Stamp stamp) {
  return {.record = record, .kind = Kind::pending, .branch = branch, .stamp = stamp};
}

}  // namespace

TEST_CASE("a record has what its branch's line had come to when its commit was logged") {
  Told told({{.record = 5, .kind = Kind::first}, committed(6, 'a'), committed(7, 'b'), pending(8, "main", 9)});
  told.has("shop");
  const Stamp first = told.changes("shop");
  told.command(log::BeginBranches{});
  told.create("dev", 'z');
  const Stamp second = told.changes("shop@dev");
  told.commit("dev", 'a');
  const Stamp third = told.changes("shop@dev");
  told.commit("dev", 'b');
  REQUIRE(told.changes("shop") == 9);
  told.has("shop@dev");
  told.lines.meet_end();
  CHECK(told.generation(5) == first);
  CHECK(told.generation(6) == second);
  CHECK(told.generation(7) == third);
  CHECK(told.generation(8) == 9);
  const auto of_dev = told.writes(7);
  REQUIRE(of_dev.size() == 3);
  CHECK(of_dev[0].kind == Step::Kind::shown_by);
  CHECK(of_dev[0].commit == hash_of('z'));
  CHECK(told.writes(8).front().kind == Step::Kind::has);
}

TEST_CASE("a commit's record isn't that of a write which the commit doesn't hold") {
  Told told({committed(5, 'a'), committed(6, 'b')});
  told.has("shop");
  const Stamp other = told.has("shop");
  told.commit("main", 'a', {.below = other});
  told.commit("main", 'b', {.below = other, .others = {other}});
  CHECK(told.generation(5) == 0);
  CHECK(told.generation(6) == other);
}

TEST_CASE("a pending record's write is the newest of its branch, with the timestamp of the pending row") {
  Told told({pending(5, "dev", 2), pending(6, "dev", 3)});
  told.create("dev", 'z');
  told.has("shop@dev");
  told.has("shop@dev");
  told.has("shop");
  told.lines.meet_end();
  CHECK(told.generation(5) == 0);
  CHECK(told.generation(6) == 3);
}

TEST_CASE("a record that a merge wrote has the merge's generation, and one that it took over came with no later commit") {
  Told told({committed(5, 'm'), committed(6, 'c'), committed(7, 'd'), committed(8, 'e')});
  told.names("shop");
  told.transaction = told.now + 1;
  told.changes("shop");
  told.merge("main", 'm', 77);
  told.transaction = 0;
  told.commit("main", 'c');
  CHECK(told.generation(5) == 77);
  CHECK(told.writes(5).front().record == 101);
  CHECK(told.generation(6) == 0);
  told.create("dev", 'z');
  told.transaction = told.now + 1;
  told.has("shop@dev");
  told.command(log::AdvanceBranch{.branch = "dev", .commit = hash_of('m')});
  told.transaction = 0;
  told.commit("dev", 'd');
  CHECK(told.generation(7) == 0);
  const Stamp own = told.changes("shop@dev");
  told.commit("dev", 'e');
  CHECK(told.generation(8) == own);
}

TEST_CASE("a branch that is made anew, reset or renamed has the lines of what it then shows") {
  Told told({committed(5, 'a'), committed(6, 'b'), committed(7, 'c')});
  told.create("dev", 'z');
  told.has("shop@dev");
  told.command(log::ResetBranch{.branch = "dev", .commit = hash_of('y')});
  told.commit("dev", 'a');
  CHECK(told.generation(5) == 0);
  told.changes("shop@dev");
  told.command(log::RenameBranch{.branch = "dev", .to = "of/me"});
  told.create("dev", 'x');
  told.changes("shop@of%2Fme");
  told.commit("of/me", 'b');
  const auto writes = told.writes(6);
  REQUIRE(writes.size() == 3);
  CHECK(writes[0].commit == hash_of('y'));
  told.command(log::DropBranch{.branch = "of/me"});
  told.command(log::DropCollection{.branch = "dev", .collection = uuid});
  told.changes("shop@dev");
  told.commit("dev", 'c');
  CHECK(told.writes(7).front().kind == Step::Kind::unknown);
}

TEST_CASE("documents that a branch takes from another one have no line, nor those that it removed") {
  Told told({committed(5, 'a'), committed(6, 'b')});
  told.has("shop@tmp");
  told.has("shop@dev");
  told.command(log::TakeCollection{.branch = "dev", .collection = uuid, .from = "tmp"});
  told.commit("dev", 'a');
  CHECK(told.generation(5) == 0);
  told.has("shop@dev");
  told.removes("shop@dev");
  told.commit("dev", 'b');
  CHECK(told.generation(6) == 0);
}

TEST_CASE("lines end at damage to the log, and what was found before it stands") {
  Told told({committed(5, 'a'), committed(6, 'b'), committed(7, 'c'), pending(8, "dev", 1)});
  told.has("shop@dev");
  told.commit("dev", 'a');
  told.lines.meet_hole("it is damaged");
  told.commit("dev", 'b');
  told.changes("shop@dev");
  told.commit("dev", 'c');
  told.lines.meet_hole("it is damaged, too");
  told.lines.meet_end();
  CHECK(told.generation(5) == 1);
  CHECK(told.generation(6) == 0);
  CHECK(told.writes(7).front().kind == Step::Kind::unknown);
  CHECK(told.generation(8) == 0);
  CHECK(told.lines.why_not(told.key(1)) == "it is damaged, too");
}

TEST_CASE("an entry that names a record of nobody may be about any document of its branch") {
  Told told({committed(5, 'a'), committed(6, 'b'), committed(7, 'c')});
  const Stamp own = told.has("shop@dev");
  told.has("shop");
  told.write(LoggedEntry::Kind::names, "shop@dev", 3);
  told.commit("dev", 'a');
  CHECK(told.generation(5) == own);
  told.write(LoggedEntry::Kind::names, "shop@dev", 4);
  told.changes("shop@dev");
  told.commit("dev", 'b');
  CHECK(told.writes(6).front().kind == Step::Kind::unknown);
  told.commit("main", 'c');
  CHECK(told.generation(7) == own + 1);
}

TEST_CASE("changes of branches of another database, and documents of another collection, are passed over") {
  Told told({committed(5, 'a')});
  const Stamp own = told.has("shop@dev");
  told.command(log::ResetBranch{.branch = "dev", .commit = hash_of('y')}, "other");
  const bson::Document other = json("{_id: 1}");
  told.lines.meet({.kind = LoggedEntry::Kind::has,
                   .stamp = ++told.now,
                   .transaction = told.now,
                   .ns = "shop@dev.others",
                   .uuid = "another one's   ",
                   .with_id = other});
  const bson::Document drop = json("{drop: 'others'}");
  told.lines.meet({.stamp = ++told.now, .transaction = told.now, .ns = "shop.$cmd", .command = drop});
  told.commit("dev", 'a');
  CHECK(told.generation(5) == own);
}

TEST_CASE("writes to a collection of another database with the same UUID are passed over") {
  Told told({committed(5, 'a'), committed(6, 'b'), pending(7, "dev", 1)});
  const Stamp own = told.has("shop@dev");
  told.has("shop2@dev");
  told.removes("shop2");
  told.collection = 8;
  told.names("shop2@dev");
  told.write(LoggedEntry::Kind::names, "shop2@dev", 4);
  told.commit("dev", 'a');
  told.lines.meet_end();
  CHECK(told.generation(5) == own);
  CHECK(told.generation(7) == own);
}

TEST_CASE("a line ends where the database had another collection of that UUID") {
  const bool database = GENERATE(false, true);
  Told told({committed(5, 'a'), committed(6, 'b')});
  told.has("shop@dev");
  if (database) {
    const bson::Document drop = json("{dropDatabase: 1}");
    told.lines.meet({.stamp = ++told.now, .transaction = told.now, .ns = "shop.$cmd", .command = drop});
  } else {
    told.collection = 8;
    told.names("shop@dev");
  }
  told.commit("dev", 'a');
  CHECK(told.generation(5) == 0);
  told.changes("shop@dev");
  told.commit("dev", 'b');
  CHECK(told.writes(6).front().kind == Step::Kind::unknown);
}

TEST_CASE("an entry whose namespace can't be a branch's, or that has no _id, is damage") {
  const bool has_id = GENERATE(false, true);
  Told told({committed(5, 'a')});
  told.has("shop@dev");
  const bson::Document document = json(has_id ? "{_id: 1}" : "{a: 1}");
  const std::string ns = has_id ? "shop@%.things" : "shop@dev.things";
  told.lines.meet({.kind = LoggedEntry::Kind::has, .stamp = ++told.now, .ns = ns, .uuid = uuid, .with_id = document});
  told.commit("dev", 'a');
  CHECK(told.generation(5) == 0);
  CHECK_FALSE(told.lines.why_not(told.key(1)).empty());
}

TEST_CASE("a commit of other collections says nothing of this one's records") {
  Told told({committed(5, 'a'), committed(6, 'b')});
  const Stamp own = told.has("shop@dev");
  log::CommitBranch entry{.branch = "dev", .collections = {"another one's   "}};
  entry.made.id = hash_of('a');
  told.command(entry);
  entry.collections.emplace_back(uuid);
  entry.made.id = hash_of('b');
  told.command(entry);
  CHECK(told.generation(5) == 0);
  CHECK(told.generation(6) == own);
}

TEST_CASE("a document with too many writes is given up, and what was found before stands") {
  Told told({committed(5, 'a'), committed(6, 'b')});
  const Stamp own = told.has("shop");
  told.commit("main", 'a');
  for (size_t i = 1; i <= VersionLines::steps_max; ++i) told.changes("shop");
  told.commit("main", 'b');
  CHECK(told.generation(5) == own);
  CHECK(told.generation(6) == 0);
  CHECK(told.lines.steps(told.key(1)).size() <= VersionLines::steps_max);
  CHECK(told.lines.why_not(told.key(1)).find("writes of it") != std::string::npos);
}
