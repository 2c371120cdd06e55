// Branches travel through the set's log here, without processes: the changes of one member come to another one as records, with
// contents as deltas of what any branch has, and both show the same.
#include <catch2/catch.hpp>

#include <set>

#include "base/random.h"
#include "replication/test_support.h"
#include "storage/store.h"
#include "versions/database/databases.h"

using namespace replication;
using namespace replication::test;
using bson::json;
using storage::Stamp;
using storage::TemporaryDirectory;
using storage::Transaction;
using versions::Branch;
using versions::BranchedDatabase;
using versions::Branches;
using versions::Prefer;

namespace {

constexpr uint64_t oplog_bytes = 100 << 20;
constexpr uint64_t short_oplog_bytes = 256 << 10;

struct Branched : test::Member {
  Branched(const std::string& path, uint64_t bytes) : test::Member(path, bytes), past(store), databases(store, past, &committer) {
    committer.set_branch_replayer(&databases);
  }

  BranchedDatabase& shop() { return *databases.find("shop"); }
  static std::string ns(const std::string& ref) { return "shop" + (ref == "main" ? "" : "@" + ref) + ".things"; }
  std::shared_ptr<storage::Collection> things(const std::string& ref) { return store.catalog().open(ns(ref)); }
  bool has_things(const std::string& ref) { return store.catalog().find(ns(ref)) != nullptr; }
  BranchedDatabase::Lost lost() {
    return [this](Transaction& transaction, storage::CollectionId collection, storage::RecordId record, Stamp generation,
                  base::BytesView content) {
      committer.content_lost(transaction, collection, record, {generation, base::Bytes(content)});
    };
  }

  versions::past::Past past;
  versions::Databases databases;
};

// Everything about branches: names, commits, what they show, and merges that wait.
std::vector<std::string> branches_of(Branched& member) {
  std::vector<std::string> all;
  BranchedDatabase& shop = member.shop();
  const versions::VersionGraph& graph = shop.branches().graph();
  Transaction transaction(member.store, Transaction::Mode::read);
  const auto name_of = [&](versions::CommitNumber number) {
    return base::to_hex(versions::view(graph.commit(transaction, number)->id));
  };
  const auto documents = [&](const std::string& ref) {
    if (const auto things = member.things(ref)) {
      for (std::string& document : documents_of(member.store, *things)) all.push_back("  " + document);
    }
  };
  for (const Branch& branch : graph.branches(transaction)) {
    all.push_back("branch " + branch.name + " " + name_of(branch.head) +
                  (shop.has_pending(transaction, branch.id) ? " and more" : ""));
    if (!member.has_things(branch.name)) all.push_back("  has no things");
    documents(branch.name);
    const auto open = shop.open_merge(transaction, branch);
    if (!open) continue;
    all.push_back("  merges " + name_of(open->from) + " " + bson::to_json(open->request));
    std::map<std::string, int> decided;
    for (const auto& one : shop.decided(transaction, branch)) ++decided[one.collection];
    for (const auto& [collection, count] : decided) all.push_back("  decided " + std::to_string(count) + " of " + collection);
  }
  for (const auto& [name, commit] : graph.tags(transaction)) all.push_back("tag " + name + " " + name_of(commit));
  std::map<std::string, bool> commits;
  for (const auto& [number, node] : graph.graph(transaction)) {
    commits[name_of(number)] = node.dropped;
    if (!node.dropped) REQUIRE(shop.verify(transaction, number, true, 10, {}).damaged == 0);
  }
  for (const auto& [name, dropped] : commits) {
    all.push_back("commit " + name + (dropped ? " dropped" : ""));
    if (!dropped && !member.has_things(name)) all.push_back("  has no things");
    if (!dropped) documents(name);
  }
  return all;
}

// The entries in the log that aren't about documents.
std::set<std::string> commands_of(Branched& member) {
  std::set<std::string> names;
  for (const LogRecord& record : member.records()) {
    for (const LogRecord::Item& item : record.entries) {
      if (item.entry.op == 'c') names.emplace(item.entry.o.begin()->name);
    }
  }
  return names;
}

void require_same_branches(Branched& a, Branched& b) {
  const auto first = branches_of(a), second = branches_of(b);
  for (size_t i = 0; i < std::min(first.size(), second.size()); ++i) {
    if (first[i] == second[i]) continue;
    INFO(first[i] << "\n" << second[i]);
    FAIL("members differ in their branches");
  }
  REQUIRE(first.size() == second.size());
  require_valid(a);
  require_valid(b);
}

bson::Document document(const std::string& id, const std::string& text, int64_t n = 0) {
  bson::Builder out;
  out.append("_id", id).append("text", text).append("n", n).append("u", id + "!");
  return out.done();
}

// Two members, and the changes that one makes.
struct Pair {
  explicit Pair(uint64_t bytes = oplog_bytes) : a(at_a.path(), bytes), b(at_b.path(), bytes) {
    a.store.catalog().create("shop.things", {}, "0123456789abcdef");
    a.store.catalog().create_indexes(a.things("main"),
                                     {storage::parse_index_spec(json("{key: {u: 1}, name: 'u', unique: true}"))});
    a.databases.find_or_begin("shop", info());
  }
  versions::CommitInfo info() { return {.time_ms = ++time, .metadata = "of " + std::to_string(time)}; }

  // Tries again after conflicts, but not for ever: a transaction that is open meanwhile continues after it.
  void change(const std::function<void(Transaction&)>& work) {
    int conflicts = 0;
    storage::in_transaction(a.store, work, [&] {
      if (++conflicts > 20) throw base::OperationError(base::ErrorCode::write_conflict, "somebody else has it");
    });
  }
  void put(Transaction& transaction, const std::string& ref, const bson::Document& after,
           UpdateForm form = UpdateForm::smallest) {
    const auto into = a.store.catalog().open_or_create(Branched::ns(ref));  // nobody may have had it any more
    const auto record = into->find_id(transaction, after["_id"]);
    if (record)
      a.committer.update(transaction, *into, *record, *into->find(transaction, *record), after, form);
    else
      a.committer.insert(transaction, *into, after);
  }
  void put(const std::string& ref, const bson::Document& after, UpdateForm form = UpdateForm::smallest) {
    change([&](Transaction& transaction) { put(transaction, ref, after, form); });
  }
  bool remove(Transaction& transaction, const std::string& ref, const std::string& id) {
    const auto from = a.store.catalog().open_or_create(Branched::ns(ref));
    const auto record = from->find_id(transaction, document(id, "")["_id"]);
    if (record) a.committer.remove(transaction, *from, *record, *from->find(transaction, *record));
    return record.has_value();
  }
  void branch(const std::string& name, const std::string& from = "main") {
    change([&](Transaction& transaction) { a.shop().create(transaction, name, versions::parse_ref(from)); });
  }
  void commit(const std::string& ref) {
    change([&](Transaction& transaction) { a.shop().commit(transaction, ref, info()); });
  }
  void merge(const std::string& into, const std::string& from) {
    change([&](Transaction& transaction) {
      a.shop().merge(transaction, into,
                     {.from = a.shop().branch(transaction, {.name = from}).head, .resolve = versions::fields(Prefer::theirs)},
                     info());
    });
  }

  // Returns the changes since the last call, as they are sent.
  std::vector<LogRecord> next() {
    const auto records = a.records(from);
    if (!records.empty()) from = records.back().last() + 1;
    return sent(a, records);
  }
  void follow() { b.applier.apply(next()); }
  void require_same() {
    follow();
    test::require_same(a, b);
    require_same_branches(a, b);
  }
  const ForwardFigures& figures() { return b.applier.forward().figures(); }

  TemporaryDirectory at_a, at_b;
  int64_t time = 0;
  Branched a, b;
  Stamp from = 1;
};

bool last_is_delta(const std::vector<LogRecord>& records) {
  return records.back().entries.back().entry.form == Entry::Form::delta;
}

const std::string first = text_of(1, 200);

// Does anything that can be done; changes that are refused have no effect.
class History {
 public:
  History(Pair& set, uint64_t seed) : set_(set), shop_(set.a.shop()), random_(seed) {
    for (size_t i = 0; i < texts_.size(); ++i) texts_[i] = text_of(seed * 100 + i, 40 + random_.below(200));
  }

  void step() {
    const uint64_t kind = random_.below(100);
    try {
      if (kind < 50)
        write();
      else if (kind < 62)
        set_.commit(any());
      else if (kind < 70)
        merge();
      else if (kind < 76)
        create();
      else if (kind < 79)
        open();
      else if (kind < 82)
        pick_or_revert();
      else if (kind < 87)
        by_hand();
      else if (kind < 90)
        tag();
      else if (kind < 93)
        sweep();
      else if (kind < 95)
        purge();
      else if (!open_ && kind < 97)
        index();
      else if (!open_)
        name();
      ++done_;
    } catch (const base::OperationError& error) {
      // This covers names that are gone, conflicts of merges, and writes that the open transaction has made, too.
      const auto code = error.code();
      using base::ErrorCode;
      if (code == ErrorCode::data_corruption_detected || code == ErrorCode::internal_error) throw;
    }
  }
  void end_open() {
    if (open_) open_->commit();
    open_.reset();
  }
  int done() const { return done_; }

 private:
  std::vector<Branch> branches() {
    Transaction transaction(set_.a.store, Transaction::Mode::read);
    return shop_.branches().graph().branches(transaction);
  }
  std::string any() {
    const auto all = branches();
    return all[random_.below(all.size())].name;
  }
  std::string other_than_main() {
    const auto all = branches();
    for (int i = 0; i < 10; ++i) {
      if (const auto& one = all[random_.below(all.size())]; one.name != "main") return one.name;
    }
    return "none";
  }
  std::string fresh_name() { return "b" + std::to_string(++names_); }
  bson::Document any_document(base::Random& random, const std::string& prefix) {
    std::string& text = texts_[random.below(texts_.size())];
    return document(prefix + std::to_string(random.below(25)), text = edited(text, random()),
                    static_cast<int64_t>(random.below(50)));
  }

  void write() {
    const std::string ref = any();
    const uint64_t choices = random_();
    set_.change([&](Transaction& transaction) {
      base::Random mine(choices);
      for (uint64_t i = 1 + mine.below(6); i > 0; --i) {
        const bson::Document after = any_document(mine, "d");
        if (mine.below(4) == 0)
          set_.remove(transaction, ref, std::string(after["_id"].as_string()));
        else
          set_.put(transaction, ref, after, mine.below(2) ? UpdateForm::smallest : UpdateForm::replacement);
      }
    });
  }
  // Its timestamps are older than those of changes that are made before it is committed.
  void open() {
    if (open_) return end_open();
    auto transaction = std::make_unique<Transaction>(set_.a.store, Transaction::Mode::write);
    transaction->expect_stamps(20);
    const std::string ref = any();
    for (int i = 0; i < 4; ++i) {
      const bson::Document after = any_document(random_, "o");
      if (random_.below(4) == 0)
        set_.remove(*transaction, ref, std::string(after["_id"].as_string()));
      else
        set_.put(*transaction, ref, after);
    }
    open_ = std::move(transaction);
  }
  void merge() {
    const std::string into = any(), other = any();
    set_.commit(into);
    set_.commit(other);
    const uint64_t how = random_.below(4);
    set_.change([&](Transaction& transaction) {
      std::string to = into;
      BranchedDatabase::MergeRequest request{.from = shop_.branch(transaction, {.name = other}).head,
                                             .resolve = versions::fields(how == 0 ? Prefer::ours : Prefer::theirs)};
      if (how == 1) request.with = other;
      if (how == 2) shop_.create(transaction, to = fresh_name(), versions::Ref{.name = into});
      if (!shop_.merge(transaction, to, request, set_.info()).conflicts.empty())
        throw base::OperationError(base::ErrorCode::operation_failed, "conflicts");
    });
  }
  void pick_or_revert() {
    const std::string into = any(), other = any();
    set_.commit(into);
    const auto kind = random_.below(2) ? Branches::MergeKind::cherry_pick : Branches::MergeKind::revert;
    set_.change([&](Transaction& transaction) {
      const BranchedDatabase::MergeRequest request{
          .kind = kind, .from = shop_.branch(transaction, {.name = other}).head, .resolve = versions::fields(Prefer::theirs)};
      if (!shop_.merge(transaction, into, request, set_.info()).conflicts.empty())
        throw base::OperationError(base::ErrorCode::operation_failed, "conflicts");
    });
  }
  // Begins a merge, decides a conflict, continues the merge, or ends it.
  void by_hand() {
    const std::string into = any(), other = any();
    const uint64_t end = random_.below(4);
    set_.change([&](Transaction& transaction) {
      const Branch branch = shop_.branch(transaction, {.name = into});
      const auto open = shop_.open_merge(transaction, branch);
      if (!open)
        return shop_.begin_merge(transaction, branch, {shop_.branch(transaction, {.name = other}).head, json("{kind: 'merge'}")});
      if (end == 0) return shop_.abort_merge(transaction, branch);
      BranchedDatabase::MergeRequest request{
          .from = open->from, .resolve = versions::fields(end == 1 ? Prefer::theirs : Prefer::neither), .goes_on = true};
      if (end == 1) {
        if (!shop_.merge(transaction, into, request, set_.info()).conflicts.empty())
          throw base::OperationError(base::ErrorCode::operation_failed, "conflicts");
        return;
      }
      base::Random mine(end);
      for (int i = 0; i < 25; ++i) {
        const auto sides = shop_.merge_sides(transaction, branch, Branches::MergeKind::merge, open->from, "things",
                                             versions::key_of(document("d" + std::to_string(i), "").bytes()));
        if (!sides || sides->theirs == sides->base) continue;
        versions::Decision decision{.take = static_cast<versions::Decision::Take>(mine.below(3)),
                                    .document = {},
                                    .sides = versions::hash_of(sides->view())};
        shop_.decide(transaction, branch, *sides, decision);
      }
    });
  }
  void create() {
    const std::string from = any();
    if (branches().size() > 7) return;
    set_.branch(fresh_name(), random_.below(3) == 0 ? from + "~1" : from);
  }
  // The writer holds the schema lock, so there is no open transaction.
  void index() {
    storage::Catalog& catalog = set_.a.store.catalog();
    const auto things = set_.a.things(any());
    if (things->index("late")) return catalog.drop_index(things, "late");
    constexpr const char* specs[] = {"{key: {n: 1}, name: 'late', unique: true}",
                                     "{key: {u: 1, n: 1}, name: 'late', unique: true}", "{key: {n: 1}, name: 'late'}"};
    catalog.create_indexes(things, {storage::parse_index_spec(json(specs[random_.below(3)]))});
  }
  void tag() {
    const std::string from = any();
    if (const uint64_t old = random_.below(12); tags_.size() > 3 && old < tags_.size()) {
      const std::string name = tags_[old];
      tags_.erase(tags_.begin() + static_cast<std::ptrdiff_t>(old));
      return set_.change([&](Transaction& transaction) { shop_.drop_tag(transaction, name); });
    }
    const std::string name = fresh_name();
    set_.change([&](Transaction& transaction) { shop_.create_tag(transaction, name, versions::Ref{.name = from}); });
    tags_.push_back(name);
  }
  void sweep() {
    const versions::RetentionPolicy policy{.newest = 2 + random_.below(3), .age_ms = {}};
    set_.change([&](Transaction& transaction) { shop_.set_retention(transaction, policy); });
    set_.change([&](Transaction& transaction) { shop_.sweep(transaction, policy.at(set_.time), 4, set_.a.lost()); });
    if (random_.below(2) == 0) set_.change([&](Transaction& transaction) { shop_.free_nodes(transaction, {}); });
  }
  void purge() {
    const bson::Document gone = document("d" + std::to_string(random_.below(25)), "");
    set_.change([&](Transaction& transaction) { shop_.purge(transaction, "things", gone["_id"], set_.a.lost()); });
  }
  void name() {
    const std::string of = other_than_main(), to = fresh_name(), at = any();
    const uint64_t kind = random_.below(8);
    if (kind == 3) return static_cast<void>(set_.a.store.catalog().create(Branched::ns(at), {}));
    if (kind == 4) return static_cast<void>(set_.a.store.catalog().drop(Branched::ns(at)));
    if (kind == 5) return replace(at, to);
    set_.change([&](Transaction& transaction) {
      if (kind == 0)
        shop_.drop(transaction, of, set_.a.lost());
      else if (kind == 1)
        shop_.rename(transaction, of, to);
      else
        shop_.reset(transaction, of, versions::Ref{.name = at}, set_.a.lost());
    });
    if (kind < 2) shop_.forget_views(of);
  }

  // This does what $out does.
  void replace(const std::string& on, const std::string& made_on) {
    set_.branch(made_on, on);
    set_.a.store.catalog().drop(Branched::ns(made_on));
    const auto things = set_.a.store.catalog().create(Branched::ns(made_on), {});
    for (int i = 0; i < 3; ++i) set_.put(made_on, any_document(random_, "d"));
    set_.change([&](Transaction& transaction) {
      const Branch from = shop_.branch(transaction, {.name = made_on});
      shop_.take_collection(transaction, shop_.branch(transaction, {.name = on}), from, things->id(), set_.a.lost());
      shop_.drop(transaction, made_on, set_.a.lost());
    });
    shop_.forget_views(made_on);
  }

  Pair& set_;
  BranchedDatabase& shop_;
  base::Random random_;
  std::array<std::string, 8> texts_;
  std::vector<std::string> tags_;
  std::unique_ptr<Transaction> open_;
  int names_ = 0, done_ = 0;
};

}  // namespace

TEST_CASE("members stay alike whatever is done to branches") {
  std::set<std::string> made;
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    INFO("seed " << seed);
    Pair set;
    set.put("main", document("d1", first));
    set.branch("dev");
    History history(set, seed);
    for (int i = 0; i < 400; ++i) {
      history.step();
      if (i % 5 == 0) set.follow();
      if (i % 50 != 49) continue;
      history.end_open();
      set.require_same();
    }
    CHECK(history.done() > 200);
    CHECK(set.figures().decoded.get() > 50);
    made.merge(commands_of(set.b));
  }
  made.erase("drop");  // where, by chance, no branch has the collection any more
  CHECK(made == std::set<std::string>{"advanceBranch",  "beginBranches", "beginMerge",    "commit",       "create",
                                      "createBranch",   "createIndexes", "createTag",     "decide",       "dropBranch",
                                      "dropCollection", "dropIndexes",   "dropTag",       "endMerge",     "freeNodes",
                                      "makeCollection", "merge",         "purge",         "renameBranch", "resetBranch",
                                      "setRetention",   "sweep",         "takeCollection"});
}

// Earlier changes are in records alone: neither in memory, as after a restart, nor in the oplog.
TEST_CASE("bases are found however short the log is") {
  for (uint64_t seed = 11; seed <= 13; ++seed) {
    INFO("seed " << seed);
    Pair set(short_oplog_bytes);
    set.put("main", document("d1", first));
    set.branch("dev");
    History history(set, seed);
    for (int i = 0; i < 400; ++i) {
      history.step();
      set.follow();
      if (i % 7 == 0) set.b.applier.forward().skipped();
      set.b.oplog.tend();
      if (i % 100 != 99) continue;
      history.end_open();
      set.follow();
      require_same_branches(set.a, set.b);
    }
    CHECK(set.b.oplog.stats().first > set.from - set.from / 2);
    CHECK(set.figures().from_records.get() > 10);
  }
}

TEST_CASE("a base may be a document of another branch, or of a commit") {
  Pair set;
  set.branch("dev");
  set.put("dev", document("a", first));
  set.require_same();
  set.b.applier.forward().skipped();
  SECTION("of what is not committed there") {}
  SECTION("of a commit alone") {
    set.commit("dev");
    set.branch("past", "dev");
    set.change([&](Transaction& transaction) { set.remove(transaction, "dev", "a"); });
    set.put("dev", document("c", edited(first, 5)));
    set.put("dev", document("a", first));
    set.follow();
    set.b.applier.forward().skipped();
  }
  set.put("main", document("b", edited(first, 2)));
  const auto records = set.next();
  CHECK(last_is_delta(records));
  set.b.applier.apply(records);
  set.require_same();
  CHECK(set.figures().from_records.get() == 1);
  CHECK(set.figures().from_oplog.get() == 0);
}

TEST_CASE("documents of merges come as deltas, and what made them goes on being a base") {
  Pair set;
  set.branch("dev");
  set.put("dev", document("a", first));
  set.put("dev", document("b", text_of(7, 300)));
  set.commit("dev");
  set.follow();
  set.merge("main", "dev");
  auto records = set.next();
  for (const LogRecord::Item& item : records.back().entries) {
    if (item.entry.op == 'i') CHECK(item.entry.form == Entry::Form::delta);
  }
  set.b.applier.apply(records);
  set.b.applier.forward().skipped();
  // One conflict is sent as its document before the merge, which is a record on dev.
  set.put("main", document("b", edited(text_of(7, 300), 3)), UpdateForm::replacement);
  set.put("main", document("c", edited(first, 3)));
  set.require_same();
}

TEST_CASE("behind what takes records away there are no bases") {
  Pair set;
  set.branch("dev");
  set.put("dev", document("a", first));
  SECTION("dropped") {
    set.change([&](Transaction& transaction) { set.a.shop().drop(transaction, "dev", set.a.lost()); });
    set.a.shop().forget_views("dev");
  }
  SECTION("reset") {
    set.change(
        [&](Transaction& transaction) { set.a.shop().reset(transaction, "dev", versions::Ref{.name = "main"}, set.a.lost()); });
  }
  SECTION("purged") {
    set.change(
        [&](Transaction& transaction) { set.a.shop().purge(transaction, "things", document("a", "")["_id"], set.a.lost()); });
  }
  SECTION("swept") {
    set.commit("dev");
    set.change([&](Transaction& transaction) { set.remove(transaction, "dev", "a"); });
    set.commit("dev");
    set.put("dev", document("b", "short"));
    set.put("dev", document("a", first));
    set.commit("dev");
    set.change(
        [&](Transaction& transaction) { CHECK(set.a.shop().sweep(transaction, {.newest = 1}, 16, set.a.lost()).commits > 0); });
  }
  set.put("main", document("c", edited(first, 2)));
  const auto records = set.next();
  CHECK_FALSE(last_is_delta(records));
  set.b.applier.apply(records);
  set.require_same();
}

TEST_CASE("a merge reserves its timestamps at once, however many transactions write beside it") {
  Pair set;
  set.branch("dev");
  set.change([&](Transaction& transaction) {
    transaction.expect_stamps(500);
    for (int i = 0; i < 500; ++i) set.put(transaction, "dev", document(std::to_string(i), "short", i));
  });
  set.commit("dev");
  int tries = 0;
  set.change([&](Transaction& transaction) {
    ++tries;
    // Another writer takes a timestamp as soon as the merge has one.
    const auto interrupted = [&] { set.put("main", document("beside", "", tries)); };
    set.a.shop().merge(transaction, "main",
                       {.from = set.a.shop().branch(transaction, {.name = "dev"}).head,
                        .resolve = versions::fields(Prefer::theirs),
                        .interrupted = interrupted},
                       set.info());
  });
  CHECK(tries == 1);
  set.require_same();
}
