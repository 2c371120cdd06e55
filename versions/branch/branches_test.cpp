// This is one suite for all layouts: it compares random histories with plain maps.
#include "versions/branch/branches.h"

#include <set>
#include <thread>

#include "base/random.h"
#include "versions/branch/test_repository.h"
#include "versions/branch/verification.h"

using namespace versions;
using namespace versions::test;

namespace {

// The documents that the branches should show: a map for each branch, and one for each commit.
class History {
 public:
  History(Layout layout, uint64_t seed)
      : layout_(layout), random_(seed), directory_(std::make_unique<storage::TemporaryDirectory>()) {
    const int before = static_cast<int>(random_.below(2)) * 12;
    open(before);
    for (int id = 1; id <= before; ++id) working_["main"][id] = document(id, 0, 0);
    Transaction transaction(engine(), Transaction::Mode::read);
    heads_["main"] = repository_->branches->head(transaction, "main").head;
    commits_[heads_["main"]] = working_["main"];
  }

  void step() {
    const uint64_t dice = random_.below(100);
    if (dice < 55) return write();
    if (dice < 70) return commit();
    if (dice < 77) return create();
    if (dice < 86) return merge();
    if (dice < 90) return pick_or_revert();
    if (dice < 92) return reset();
    if (dice < 93) return drop();
    if (dice < 95) return reopen(random_.below(2) == 0);
    if (dice < 96 && random_.below(4) == 0) return static_cast<void>(free_nodes());
    if (dice < 97) return static_cast<void>(sweep({.newest = 1 + random_.below(6)}, 1 + random_.below(5)));
    check();
  }

  void check() {
    Transaction transaction(engine(), Transaction::Mode::read);
    std::vector<View> views;
    std::vector<Documents> expected;
    for (const auto& [name, documents] : working_) {
      views.push_back(repository_->view(transaction, name));
      expected.push_back(documents);
    }
    check_many(transaction, views, expected);
    for (int i = 0; i < 2; ++i) {
      const auto& [number, documents] = *std::next(commits_.begin(), static_cast<ptrdiff_t>(random_.below(commits_.size())));
      views.push_back(repository_->branches->view(transaction, number, 0));
      expected.push_back(documents);
      check_root(number, documents);
    }
    check_many(transaction, views, expected);
    for (size_t i = 0; i < views.size(); ++i) {
      CHECK(repository_->read(transaction, views[i]) == expected[i]);
      for (int id = 1; id < next_id_; id += 1 + static_cast<int>(random_.below(4))) {
        const auto found = repository_->store().get(transaction, views[i], key_of_id(id));
        const auto wanted = expected[i].find(id);
        CHECK(found.has_value() == (wanted != expected[i].end()));
        if (found && wanted != expected[i].end()) CHECK(*found == wanted->second);
      }
    }
    check_tree_diff(any_commit(), any_commit());
    const size_t a = random_.below(views.size()), b = random_.below(views.size());
    check_diff(transaction, views[a], expected[a], views[b], expected[b]);
  }

  // After the sweep, exactly what is shown is stored.
  void sweep_all() {
    while (sweep({.newest = 1}, 3)) {
    }
    check_nodes();
    Transaction transaction(engine(), Transaction::Mode::read);
    std::set<RecordId> shown;
    const auto note = [&](const View& view) {
      const auto scan = repository_->store().scan(transaction, view);
      while (scan->next()) shown.insert(scan->record());
    };
    for (const auto& [number, documents] : commits_) note(repository_->branches->view(transaction, number, 0));
    for (const auto& [name, documents] : working_) note(repository_->view(transaction, name));
    std::set<RecordId> stored;
    auto cursor = repository_->collection->records().cursor(transaction);
    while (cursor.next()) stored.insert(cursor.id());
    CHECK(stored == shown);
  }

  size_t swept() const { return swept_; }
  size_t merges() const { return merges_; }
  size_t picks() const { return picks_; }
  size_t branches() const { return branches_made_; }

 private:
  storage::Engine& engine() { return repository_->disk.engine(); }
  void open(int before = 0) { repository_ = std::make_unique<Repository>(directory_->path(), layout_, before); }
  CommitInfo info() {
    if (random_.below(8) == 0) tree_ = all_trees[random_.below(std::size(all_trees))];
    return {static_cast<int64_t>(random_.below(3)), "a commit", {{"things", tree_}}};
  }
  std::string any_branch() { return std::next(working_.begin(), static_cast<ptrdiff_t>(random_.below(working_.size())))->first; }
  CommitNumber any_commit() { return std::next(commits_.begin(), static_cast<ptrdiff_t>(random_.below(commits_.size())))->first; }
  template <class Work>
  auto in_transaction(Work&& work) {
    return storage::in_transaction(engine(), work);
  }

  // Makes the parts of trees that a commit would make too, each in a transaction of its own; or only some of them.
  void prepare(const std::string& name, const CommitInfo& info) {
    Branches& branches = *repository_->branches;
    for (uint64_t left = random_.below(12); left > 0; --left) {
      const bool made = in_transaction([&](Transaction& transaction) {
        auto part = branches.next_part(transaction, name, info);
        if (!part) return false;
        part->documents_max = 1 + random_.below(10);
        branches.make_part(transaction, *part);
        return true;
      });
      if (!made) return;
    }
  }

  void write() {
    // The engine may refuse a transaction at any time; then another one is tried.
    for (;;) {
      try {
        return try_write();
      } catch (const storage::WriteConflict&) {
      }
    }
  }

  // Writes a few documents of one branch, and sometimes rolls all of it back.
  void try_write() {
    const std::string name = any_branch();
    Documents documents = working_[name];
    Transaction transaction(engine(), Transaction::Mode::write);
    for (uint64_t left = 1 + random_.below(4); left > 0; --left) {
      const bool is_new = documents.empty() || random_.below(3) == 0;
      const int id =
          is_new ? (random_.below(3) == 0 ? 1 + static_cast<int>(random_.below(static_cast<uint64_t>(next_id_))) : next_id_++)
                 : std::next(documents.begin(), static_cast<ptrdiff_t>(random_.below(documents.size())))->first;
      if (documents.count(id) && random_.below(4) == 0) {
        repository_->remove(transaction, name, id);
        documents.erase(id);
      } else {
        // Different fields change, so that merges meet fields that one side alone changed.
        const auto before = documents.find(id);
        const bson::DocumentView old = before == documents.end() ? bson::DocumentView() : bson::DocumentView(before->second);
        const bool first = random_.below(2) == 0;
        const int a = first || old.empty() ? ++serial_ : old["a"].as_int32(),
                  b = !first || old.empty() ? ++serial_ : old["b"].as_int32();
        documents[id] = document(id, a, b, Bytes(300, static_cast<char>('a' + id % 26)));
        repository_->put(transaction, name, documents[id]);
      }
    }
    if (random_.below(8) == 0) return;
    transaction.commit();
    working_[name] = std::move(documents);
    dirty_.insert(name);
  }

  void commit() {
    const std::string name = any_branch();
    const CommitInfo info = this->info();
    prepare(name, info);
    const CommitNumber first =
        in_transaction([&](Transaction& transaction) { return repository_->branches->graph().first(transaction); });
    const auto made =
        in_transaction([&](Transaction& transaction) { return repository_->branches->commit(transaction, name, info); });
    // Something was written, but possibly nothing of it is left to commit. The first commit's id says nothing of what it shows.
    if (made) {
      CHECK((dirty_.count(name) || heads_[name] == first));
      if (working_[name] != commits_[heads_[name]] || heads_[name] == first) CHECK(tree_of(made->number) == tree_);
      heads_[name] = made->number;
      commits_[made->number] = working_[name];
    } else {
      CHECK(working_[name] == commits_[heads_[name]]);
    }
    dirty_.erase(name);
  }

  void create() {
    if (working_.size() > 6) return;
    const std::string name = "b" + std::to_string(++branches_made_);
    if (random_.below(3) == 0) {
      const CommitNumber from = any_commit();
      in_transaction([&](Transaction& transaction) { repository_->branches->create(transaction, name, from); });
      heads_[name] = from;
    } else {
      const std::string from = any_branch();
      in_transaction([&](Transaction& transaction) { repository_->branches->create(transaction, name, from); });
      heads_[name] = heads_[from];
    }
    working_[name] = commits_[heads_[name]];
  }

  void merge() {
    const std::string into = any_branch(), from = any_branch();
    const CommitNumber theirs = heads_[from];
    const Resolver resolve = fields(random_.below(2) ? Prefer::ours : Prefer::theirs);
    CommitNumber base = 0;
    Merged merged;
    MergeTerms terms(resolve);
    try {
      base = in_transaction([&](Transaction& transaction) {
        return repository_->branches->graph().common_ancestor(transaction, heads_[into], theirs);
      });
      terms.decided[0] = decisions(commits_[base], commits_[heads_[into]], commits_[theirs]);
      merged = in_transaction(
          [&](Transaction& transaction) { return repository_->branches->merge(transaction, into, theirs, terms, info()); });
    } catch (const base::OperationError& refused) {
      CHECK(refused.code() == base::ErrorCode::illegal_operation);
      CHECK(dirty_.count(into));
      return;
    }
    CHECK(merged.conflicts.empty());
    if (!merged.commit) {
      CHECK(base == theirs);
      return;
    }
    ++merges_;
    working_[into] = merged_documents(commits_[base], commits_[heads_[into]], commits_[theirs], resolve, terms.decided[0]);
    const bool is_head = heads_[from] == theirs;
    heads_[into] = merged.commit->number;
    commits_[heads_[into]] = working_[into];
    CHECK(merged.commit->parents.size() == 2);
    dirty_.erase(into);
    if (is_head && random_.below(3) == 0) advance(from, into);
  }

  // Some decisions are about documents as they are, some about other sides.
  Decisions decisions(const Documents& base, const Documents& ours, const Documents& theirs) {
    Decisions decisions;
    for (uint64_t left = random_.below(4); left > 0; --left) {
      const int id = 1 + static_cast<int>(random_.below(static_cast<uint64_t>(next_id_)));
      const auto b = of(base, id), o = of(ours, id), t = of(theirs, id);
      Decision decision{.take = static_cast<Decision::Take>(random_.below(4)),
                        .document = document(id, ++serial_, ++serial_),
                        .sides = hash_of({b, o, t})};
      if (random_.below(4) == 0) ++decision.sides[0];
      decisions[key_of_id(id)] = decision;
    }
    return decisions;
  }

  // Called after `name` was merged into the other.
  void advance(const std::string& name, const std::string& other) {
    try {
      in_transaction([&](Transaction& transaction) { repository_->branches->advance(transaction, name, heads_[other]); });
    } catch (const base::OperationError& refused) {
      CHECK(refused.code() == base::ErrorCode::illegal_operation);
      CHECK(dirty_.count(name));
      return;
    }
    heads_[name] = heads_[other];
    working_[name] = commits_[heads_[name]];
    dirty_.erase(name);
  }

  void pick_or_revert() {
    const std::string on = any_branch();
    const CommitNumber commit = any_commit();
    const Resolver resolve = fields(random_.below(2) ? Prefer::ours : Prefer::theirs);
    const bool back = random_.below(2) == 0;
    CommitNumber parent = 0;
    Merged merged;
    try {
      merged = in_transaction([&](Transaction& transaction) {
        Branches& branches = *repository_->branches;
        const auto parents = branches.graph().commit(transaction, commit)->parents;
        parent = parents.empty() || branches.graph().dropped(transaction, parents.front()) ? 0 : parents.front();
        return back ? branches.revert(transaction, on, commit, resolve, info())
                    : branches.cherry_pick(transaction, on, commit, resolve, info());
      });
    } catch (const base::OperationError& refused) {
      // The commit's parent may have been dropped.
      CHECK((refused.code() == base::ErrorCode::illegal_operation || refused.code() == base::ErrorCode::bad_value));
      CHECK((dirty_.count(on) || parent == 0));
      return;
    }
    const Documents expected =
        merged_documents(commits_[back ? commit : parent], commits_[heads_[on]], commits_[back ? parent : commit], resolve);
    if (!merged.commit) {
      CHECK(expected == commits_[heads_[on]]);
      return;
    }
    ++picks_;
    CHECK(merged.commit->parents == std::vector<CommitNumber>{heads_[on]});
    working_[on] = expected;
    heads_[on] = merged.commit->number;
    commits_[heads_[on]] = working_[on];
    dirty_.erase(on);
  }

  static std::optional<Bytes> of(const Documents& side, int id) {
    const auto found = side.find(id);
    return found == side.end() ? std::nullopt : std::optional<Bytes>(found->second);
  }

  static Documents merged_documents(const Documents& base, const Documents& ours, const Documents& theirs,
                                    const Resolver& resolve, const Decisions& decisions = {}) {
    std::set<int> ids;
    for (const Documents* side : {&base, &ours, &theirs}) {
      for (const auto& [id, bytes] : *side) ids.insert(id);
    }
    for (const auto& [key, decision] : decisions) {
      if (decision.take == Decision::Take::document) ids.insert(id_of(decision.document));
    }
    Documents merged;
    for (const int id : ids) {
      const auto b = of(base, id), o = of(ours, id), t = of(theirs, id);
      auto result = o;
      if (const auto decided = decisions.find(key_of_id(id));
          decided != decisions.end() && decided->second.sides == hash_of({b, o, t})) {
        const Decision& decision = decided->second;
        result = decision.take == Decision::Take::ours     ? o
                 : decision.take == Decision::Take::theirs ? t
                 : decision.take == Decision::Take::base   ? b
                                                           : decision.document;
      } else if (o == b) {
        result = t;
      } else if (t != b && t != o) {
        const Resolution resolution = resolve({b, o, t});
        if (resolution.kind == Resolution::Kind::theirs) result = t;
        if (resolution.kind == Resolution::Kind::written) result = resolution.document;
      }
      if (result) merged[id] = *result;
    }
    return merged;
  }

  bool sweep(const Retention& retention, size_t commits_max) {
    uint64_t lost = 0;
    const Branches::Swept swept = in_transaction([&](Transaction& transaction) {
      lost = 0;
      return repository_->branches->sweep(transaction, retention, commits_max,
                                          [&](size_t, RecordId, Stamp, BytesView) { ++lost; });
    });
    CHECK(swept.commits <= commits_max);
    CHECK(lost == swept.records);
    size_t gone = 0;
    Transaction transaction(engine(), Transaction::Mode::read);
    for (auto at = commits_.begin(); at != commits_.end();) {
      const bool dropped = repository_->branches->graph().dropped(transaction, at->first);
      if (dropped) CHECK_THROWS_AS(repository_->branches->view(transaction, at->first, 0), base::OperationError);
      gone += dropped;
      at = dropped ? commits_.erase(at) : std::next(at);
    }
    CHECK(gone == swept.commits);
    swept_ += gone;
    return swept.commits > 0;
  }

  void reset() {
    const std::string name = any_branch();
    const CommitNumber to = any_commit();
    in_transaction([&](Transaction& transaction) { repository_->branches->reset(transaction, name, to); });
    heads_[name] = to;
    working_[name] = commits_[to];
    dirty_.erase(name);
  }

  void drop() {
    const std::string name = any_branch();
    if (name == "main") return;
    in_transaction([&](Transaction& transaction) { repository_->branches->drop(transaction, name); });
    working_.erase(name);
    heads_.erase(name);
    dirty_.erase(name);
  }

  // Reopens as after an orderly stop, or as after the loss of the process.
  void reopen(bool crash) {
    if (crash) {
      auto copy = std::make_unique<storage::TemporaryDirectory>();
      directory_->copy_to(*copy);
      repository_.reset();
      directory_ = std::move(copy);
    }
    repository_.reset();
    open();
  }

  void check_many(Transaction& transaction, const std::vector<View>& views, const std::vector<Documents>& expected) {
    std::vector<Documents> found(views.size());
    std::set<RecordId> seen;
    const auto scan = repository_->store().scan_many(transaction, views);
    while (scan->next()) {
      CHECK(seen.insert(scan->record()).second);
      bool any = false;
      for (size_t i = 0; i < views.size(); ++i) {
        if (!(scan->shown_in()[i / 64] >> (i % 64) & 1)) continue;
        found[i].emplace(id_of(scan->content()), scan->content());
        CHECK(repository_->store().shows(transaction, views[i], scan->record()));
        any = true;
      }
      CHECK(any);
    }
    CHECK(found == expected);
  }

  uint64_t free_nodes() {
    return in_transaction([&](Transaction& transaction) { return repository_->branches->free_nodes(transaction, {}); });
  }

  // Trees find the same differences between two commits as bitmaps do, whatever lies between them.
  void check_tree_diff(CommitNumber a, CommitNumber b) {
    const auto [in_a, in_b] = in_transaction([&](Transaction& transaction) {
      return std::pair(repository_->branches->root(transaction, a, 0), repository_->branches->root(transaction, b, 0));
    });
    Transaction transaction(engine(), Transaction::Mode::read);
    std::map<Bytes, std::optional<Hash>> by_tree, by_bitmaps;
    repository_->branches->roots().diff(transaction, in_a, in_b,
                                        [&](BytesView key, const std::optional<Hash>& hash) { by_tree[Bytes(key)] = hash; });
    const Difference difference = repository_->store().diff(transaction, repository_->branches->view(transaction, a, 0),
                                                            repository_->branches->view(transaction, b, 0));
    std::map<Bytes, Bytes> before;
    const auto content = [&](RecordId record) { return repository_->store().content(transaction, record).value(); };
    difference.only_a.for_each([&](RecordId record) { before[key_of(content(record))] = content(record); });
    for (const auto& [key, bytes] : before) by_bitmaps[key] = std::nullopt;
    difference.only_b.for_each([&](RecordId record) {
      const Bytes after = content(record), key = key_of(after);
      if (const auto old = before.find(key); old != before.end() && old->second == after)
        by_bitmaps.erase(key);  // written again
      else
        by_bitmaps[key] = sha256(after);
    });
    CHECK(by_tree == by_bitmaps);
  }

  TreeKind tree_of(CommitNumber number) {
    return in_transaction([&](Transaction& transaction) {
      Branches& branches = *repository_->branches;
      return branches.roots().kind(transaction, branches.root(transaction, number, 0));
    });
  }

  // The nodes that are left are those that prove the commits which stayed.
  void check_nodes() {
    uint64_t freed = 0;
    while (const uint64_t some = free_nodes()) freed += some;
    CHECK(freed > 0);
    Transaction transaction(engine(), Transaction::Mode::read);
    for (const auto& [number, documents] : commits_) {
      const Verification verification = verify(transaction, *repository_->branches, number, true, 10, {});
      CHECK(verification.damaged == 0);
      if (verification.collections[0].has_root) CHECK(verification.collections[0].documents == documents.size());
    }
  }

  // The tree's root depends on the documents alone, not on their history.
  void check_root(CommitNumber number, const Documents& documents) {
    const Hash root =
        in_transaction([&](Transaction& transaction) { return repository_->branches->root(transaction, number, 0, tree_); });
    const Hash expected = root_of(documents, tree_of(number));
    CHECK(root == expected);
    // Only the first commit's row names no root.
    Transaction transaction(engine(), Transaction::Mode::read);
    const auto commit = repository_->branches->graph().commit(transaction, number);
    CHECK(commit->collections[0].digest == (commit->parents.empty() ? Hash{} : expected));
    CHECK(sha256(repository_->branches->graph().statement(transaction, *commit)) == commit->id);
  }

  // Removing one difference and adding the other leads from view to view, and neither has anything that both views show.
  void check_diff(Transaction& transaction, const View& a, const Documents& in_a, const View& b, const Documents& in_b) {
    const Difference difference = repository_->store().diff(transaction, a, b);
    Documents documents = in_a;
    difference.only_a.for_each([&](RecordId record) {
      CHECK_FALSE(repository_->store().shows(transaction, b, record));
      const int id = id_of(*repository_->store().content(transaction, record));
      CHECK(documents.erase(id) == 1);
    });
    difference.only_b.for_each([&](RecordId record) {
      CHECK_FALSE(repository_->store().shows(transaction, a, record));
      const Bytes content = *repository_->store().content(transaction, record);
      CHECK(documents.emplace(id_of(content), content).second);
    });
    CHECK(documents == in_b);
  }

  Layout layout_;
  base::Random random_;
  std::unique_ptr<storage::TemporaryDirectory> directory_;
  std::unique_ptr<Repository> repository_;
  std::map<std::string, Documents> working_;
  std::map<std::string, CommitNumber> heads_;
  std::map<CommitNumber, Documents> commits_;
  std::set<std::string> dirty_;
  TreeKind tree_;  // the tree that the next commit makes
  int next_id_ = 13, serial_ = 0;
  size_t merges_ = 0, picks_ = 0, swept_ = 0, branches_made_ = 0;
};

}  // namespace

TEST_CASE("any history of branches reads as maps do, in every layout") {
  for (const Layout layout : all_layouts) {
    size_t merges = 0, picks = 0, swept = 0, branches = 0;
    for (uint64_t seed = 1; seed <= 5; ++seed) {
      INFO("layout " << static_cast<int>(layout) << ", seed " << seed);
      History history(layout, seed);
      for (int i = 0; i < 400; ++i) history.step();
      history.check();
      history.sweep_all();
      history.check();
      merges += history.merges();
      picks += history.picks();
      swept += history.swept();
      branches += history.branches();
    }
    // The histories must contain what the test is about.
    CHECK(merges > 15);
    CHECK(picks > 5);
    CHECK(swept > 50);
    CHECK(branches > 20);
  }
}

TEST_CASE("writers of one branch meet only on the same document") {
  for (const Layout layout : all_layouts) {
    // 0: no document is touched twice; otherwise both touch one that is committed, was added since, or is new.
    for (const int twice : {0, 1, 20, 30}) {
      storage::TemporaryDirectory directory;
      Repository repository(directory.path(), layout, 12);
      const auto put = [&](Transaction& transaction, int id, int a) { repository.put(transaction, "main", document(id, a, 0)); };
      storage::in_transaction(repository.disk, [&](Transaction& transaction) { put(transaction, 20, 1); });

      Transaction one(repository.disk, Transaction::Mode::write), other(repository.disk, Transaction::Mode::write);
      put(one, 1, 1);
      put(one, 20, 2);
      put(one, 30, 1);
      put(other, 2, 1);
      put(other, 31, 1);
      repository.remove(other, "main", 3);
      if (twice != 0) {
        CHECK_THROWS_AS(put(other, twice, 2), storage::WriteConflict);
        continue;
      }
      one.commit();
      other.commit();
      Transaction after(repository.disk, Transaction::Mode::read);
      CHECK(repository.read(after, repository.view(after, "main")).size() == 14);
    }
  }
}

TEST_CASE("a commit takes what it sees, and leaves to the next what was still open") {
  for (const Layout layout : all_layouts) {
    storage::TemporaryDirectory directory;
    Repository repository(directory.path(), layout, 12);
    Transaction open(repository.disk, Transaction::Mode::write);
    repository.put(open, "main", document(1, 7, 7));
    repository.put(open, "main", document(40, 7, 7));
    const auto first = storage::in_transaction(repository.disk, [&](Transaction& transaction) {
      repository.put(transaction, "main", document(2, 8, 8));
      repository.put(transaction, "main", document(41, 8, 8));
      return repository.branches->commit(transaction, "main", {});
    });
    open.commit();
    const auto second = storage::in_transaction(
        repository.disk, [&](Transaction& transaction) { return repository.branches->commit(transaction, "main", {}); });
    REQUIRE(first);
    REQUIRE(second);
    Transaction transaction(repository.disk, Transaction::Mode::read);
    const Documents at_first = repository.read(transaction, repository.branches->view(transaction, first->number, 0));
    const Documents at_second = repository.read(transaction, repository.branches->view(transaction, second->number, 0));
    CHECK(at_first.at(1) == document(1, 0, 0));
    CHECK(at_first.count(40) == 0);
    CHECK(at_first.size() == 13);
    CHECK(at_second.at(1) == document(1, 7, 7));
    CHECK(at_second.at(41) == document(41, 8, 8));
    CHECK(at_second.size() == 14);
  }
}

TEST_CASE("a commit that meets a writer of what it folds conflicts, and so does the writer") {
  for (const Layout layout : all_layouts) {
    storage::TemporaryDirectory directory;
    Repository repository(directory.path(), layout, 12);
    storage::in_transaction(repository.disk,
                            [&](Transaction& transaction) { repository.put(transaction, "main", document(20, 1, 1)); });
    Transaction writer(repository.disk, Transaction::Mode::write);
    Transaction committer(repository.disk, Transaction::Mode::write);
    repository.put(writer, "main", document(20, 2, 2));  // the record changes in its place, so the commit would show it changed
    CHECK_THROWS_AS(repository.branches->commit(committer, "main", {}), storage::WriteConflict);
  }
}

TEST_CASE("a commit that others are quicker than can stop those who write to its branch") {
  for (const Layout layout : all_layouts) {
    storage::TemporaryDirectory directory;
    Repository repository(directory.path(), layout, 12);
    const auto change = [&](const std::string& branch, int id, int value) {
      Transaction transaction(repository.disk, Transaction::Mode::write);
      if (value < 0)
        repository.remove(transaction, branch, id);
      else
        repository.put(transaction, branch, document(id, value, 0));
      transaction.commit();
    };
    storage::in_transaction(repository.disk,
                            [&](Transaction& transaction) { repository.branches->create(transaction, "dev", "main"); });
    for (const int id : {20, 21}) change("main", id, 1);
    {
      const BranchId main = storage::in_transaction(
          repository.disk, [&](Transaction& transaction) { return repository.branches->head(transaction, "main").id; });
      const auto changes = repository.store().stop_writers(main, Stopped::changes);
      CHECK_THROWS_AS(change("main", 20, 2), storage::WriteConflict);
      CHECK_THROWS_AS(change("main", 21, -1), storage::WriteConflict);
      change("main", 22, 1);
      change("main", 1, 2);
      change("main", 2, -1);
      const auto all = repository.store().stop_writers(main, Stopped::writes);
      for (const int id : {20, 23, 3}) CHECK_THROWS_AS(change("main", id, 2), storage::WriteConflict);
      CHECK_THROWS_AS(change("main", 4, -1), storage::WriteConflict);
      change("dev", 23, 2);
      storage::in_transaction(repository.disk,
                              [&](Transaction& transaction) { REQUIRE(repository.branches->commit(transaction, "main", {})); });
    }
    change("main", 20, 2);
    change("main", 21, -1);
  }
}

TEST_CASE("many threads write and commit on one branch, and nothing is lost") {
  for (const Layout layout : all_layouts) {
    storage::TemporaryDirectory directory;
    Repository repository(directory.path(), layout);
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 3; ++thread) {
      threads.emplace_back([&, thread] {
        for (int i = 0; i < 60; ++i) {
          storage::in_transaction(repository.disk, [&](Transaction& transaction) {
            repository.put(transaction, "main", document(thread * 1000 + i % 40, i, thread));
          });
        }
      });
    }
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i)
        storage::in_transaction(repository.disk,
                                [&](Transaction& transaction) { repository.branches->commit(transaction, "main", {}); });
    });
    for (std::thread& thread : threads) thread.join();
    storage::in_transaction(repository.disk,
                            [&](Transaction& transaction) { repository.branches->commit(transaction, "main", {}); });
    Transaction transaction(repository.disk, Transaction::Mode::read);
    const Branch main = repository.branches->head(transaction, "main");
    const Documents committed = repository.read(transaction, repository.branches->view(transaction, main.head, 0));
    CHECK(committed == repository.read(transaction, repository.branches->view(transaction, main, 0)));
    REQUIRE(committed.size() == 120);
    for (const auto& [id, bytes] : committed)
      CHECK(bytes == document(id, id % 1000 < 20 ? id % 1000 + 40 : id % 1000, id / 1000));
  }
}

TEST_CASE("the first branch of a collection copies no record, and a branch none of its parent's") {
  for (const Layout layout : all_layouts) {
    storage::TemporaryDirectory directory;
    Repository repository(directory.path(), layout, 12);
    storage::in_transaction(repository.disk, [&](Transaction& transaction) {
      repository.branches->create(transaction, "dev", "main");
      repository.put(transaction, "dev", document(3, 9, 9));
    });
    CHECK(repository.collection->records().stats().records == 13);
    Transaction transaction(repository.disk, Transaction::Mode::read);
    CHECK(repository.store().get(transaction, repository.view(transaction, "main"), key_of_id(3)) == document(3, 0, 0));
    CHECK(repository.store().get(transaction, repository.view(transaction, "dev"), key_of_id(3)) == document(3, 9, 9));
    CHECK(repository.store().history(transaction, key_of_id(3)).size() == 2);
  }
}

TEST_CASE("branches and commits are refused by name where they are unknown, twice there, or not to be merged") {
  storage::TemporaryDirectory directory;
  Repository repository(directory.path(), Layout::hybrid, 12);
  Branches& branches = *repository.branches;
  storage::in_transaction(repository.disk, [&](Transaction& transaction) {
    branches.create(transaction, "dev", "main");
    CHECK_THROWS_AS(branches.create(transaction, "dev", "main"), base::OperationError);
    CHECK_THROWS_AS(branches.head(transaction, "nobody"), base::OperationError);
    CHECK(branches.commit(transaction, "dev", {}));  // makes a commit, since the first one's id says nothing of documents
    CHECK_FALSE(branches.commit(transaction, "dev", {}));
    // Merging a branch into itself, or what it has already, does nothing.
    CHECK_FALSE(branches.merge(transaction, "dev", branches.head(transaction, "dev").head, fields(Prefer::ours), {}).commit);
    CHECK_FALSE(branches.merge(transaction, "dev", branches.head(transaction, "main").head, fields(Prefer::ours), {}).commit);
    CHECK_THROWS_AS(
        repository.store().insert(transaction, repository.view(transaction, "dev"), document(3, 1, 1), transaction.next_stamp()),
        base::OperationError);
  });
}

TEST_CASE("a commit is found by the first digits of its id, and its log leads back to the first") {
  storage::TemporaryDirectory directory;
  Repository repository(directory.path(), Layout::hybrid, 12);
  Branches& branches = *repository.branches;
  std::vector<Bytes> ids;
  storage::in_transaction(repository.disk, [&](Transaction& transaction) {
    for (int i = 0; i < 5; ++i) {
      repository.put(transaction, "main", document(1, i + 1, 0));
      ids.push_back(base::to_hex(view(branches.commit(transaction, "main", {0, "same words"})->id)));
    }
    // The same change from the same commit at the same time makes another commit.
    branches.reset(transaction, "main", *branches.graph().find(transaction, ids[3]));
    repository.put(transaction, "main", document(1, 5, 0));
    const auto again = branches.commit(transaction, "main", {0, "same words"});
    CHECK(base::to_hex(view(again->id)) != ids[4]);
    CHECK(again->collections[0].digest ==
          branches.graph().commit(transaction, *branches.graph().find(transaction, ids[4]))->collections[0].digest);
  });
  Transaction transaction(repository.disk, Transaction::Mode::read);
  const VersionGraph& graph = branches.graph();
  for (const Bytes& id : ids) {
    const auto number = graph.find(transaction, BytesView(id).substr(0, 9));
    REQUIRE(number);
    CHECK(base::to_hex(view(graph.commit(transaction, *number)->id)) == id);
  }
  CHECK_FALSE(graph.find(transaction, "0123456789abcdef0123456789abcdef"));
  CHECK_THROWS_AS(graph.find(transaction, "0123456"), base::OperationError);
  CHECK_THROWS_AS(graph.find(transaction, "0123456x"), base::OperationError);
  Log log(graph, transaction, branches.head(transaction, "main").head);
  size_t count = 0;
  while (log.next()) ++count;
  CHECK(count == 6);
  CHECK(log.commit().parents.empty());
}

TEST_CASE("a commit is taken to another branch, and taken back, without what came before and after it") {
  for (const Layout layout : all_layouts) {
    storage::TemporaryDirectory directory;
    Repository repository(directory.path(), layout, 12);
    Branches& branches = *repository.branches;
    std::vector<CommitNumber> commits;
    storage::in_transaction(repository.disk, [&](Transaction& transaction) {
      branches.create(transaction, "dev", "main");
      for (int i = 1; i <= 3; ++i) {
        repository.put(transaction, "dev", document(i, i, i));
        repository.put(transaction, "dev", document(20, i, 0));
        commits.push_back(branches.commit(transaction, "dev", {i, {}})->number);
      }
      const Merged none = branches.cherry_pick(transaction, "main", commits[1], fields(Prefer::neither), {5, {}});
      CHECK_FALSE(none.commit);
      REQUIRE(none.conflicts.size() == 1);  // 20 doesn't exist, so it can't be changed
      CHECK(none.conflicts[0].key == key_of_id(20));
      CHECK(none.conflicts[0].ours == 0);
      CHECK(branches.cherry_pick(transaction, "main", commits[1], fields(Prefer::ours), {5, {}}).commit);
      CHECK_FALSE(branches.cherry_pick(transaction, "main", commits[1], fields(Prefer::ours), {6, {}}).commit);
      CHECK(branches.revert(transaction, "dev", commits[0], fields(Prefer::ours), {7, {}}).commit);
      CHECK_THROWS_AS(branches.revert(transaction, "dev", 1, fields(Prefer::ours), {7, {}}), base::OperationError);
    });
    Transaction transaction(repository.disk, Transaction::Mode::read);
    const Documents main = repository.read(transaction, repository.view(transaction, "main")),
                    dev = repository.read(transaction, repository.view(transaction, "dev"));
    CHECK(main.at(1) == document(1, 0, 0));
    CHECK(main.at(2) == document(2, 2, 2));
    CHECK(main.count(20) == 0);
    CHECK(dev.at(1) == document(1, 0, 0));
    CHECK(dev.at(3) == document(3, 3, 3));
    CHECK(dev.at(20) == document(20, 3, 0));
  }
}

TEST_CASE("tags are there by name until they are taken away, over a restart too") {
  storage::TemporaryDirectory directory;
  CommitNumber first = 0;
  {
    Repository repository(directory.path(), Layout::hybrid, 12);
    storage::in_transaction(repository.disk, [&](Transaction& transaction) {
      first = repository.branches->head(transaction, "main").head;
      VersionGraph& graph = repository.branches->graph();
      graph.put_tag(transaction, "v1", first);
      graph.put_tag(transaction, "v2", first);
      graph.remove_tag(transaction, "v2");
      repository.put(transaction, "main", document(1, 1, 1));
      repository.branches->commit(transaction, "main", {});
    });
  }
  Repository repository(directory.path(), Layout::hybrid);
  Transaction transaction(repository.disk, Transaction::Mode::read);
  const VersionGraph& graph = repository.branches->graph();
  CHECK(graph.tag(transaction, "v1") == first);
  CHECK_FALSE(graph.tag(transaction, "v2"));
  CHECK_FALSE(graph.tag(transaction, "main"));
  CHECK(graph.tags(transaction) == std::vector<std::pair<std::string, CommitNumber>>{{"v1", first}});
  CHECK(graph.branches(transaction).size() == 1);
  CHECK(repository.store().get(transaction, repository.branches->view(transaction, first, 0), key_of_id(1)) == document(1, 0, 0));
}

TEST_CASE("who writes a document that is purged at the same time conflicts, on each branch") {
  for (const Layout layout : all_layouts) {
    INFO("layout " << static_cast<int>(layout));
    storage::TemporaryDirectory directory;
    Repository repository(directory.path(), layout, 12);
    Branches& branches = *repository.branches;
    storage::in_transaction(repository.disk, [&](Transaction& transaction) {
      branches.create(transaction, "dev", "main");
      branches.create(transaction, "empty", "main");
      repository.put(transaction, "dev", document(1, 1, 1));
      repository.remove(transaction, "empty", 1);
      branches.commit(transaction, "dev", {});
      branches.commit(transaction, "empty", {});
    });
    const auto conflict = [&](const auto& write) {
      for (const bool purge_first : {true, false}) {
        Transaction writer(repository.disk, Transaction::Mode::write), purger(repository.disk, Transaction::Mode::write);
        const auto purge = [&] { branches.purge(purger, 0, key_of_id(1), {}); };
        if (purge_first) {
          purge();
          CHECK_THROWS_AS(write(writer), storage::WriteConflict);
        } else {
          write(writer);
          CHECK_THROWS_AS(purge(), storage::WriteConflict);
        }
        writer.rollback();
        purger.rollback();
      }
    };
    conflict([&](Transaction& transaction) { repository.put(transaction, "empty", document(1, 2, 2)); });
    conflict([&](Transaction& transaction) { repository.put(transaction, "dev", document(1, 2, 2)); });
    conflict([&](Transaction& transaction) { repository.put(transaction, "main", document(1, 2, 2)); });
    conflict([&](Transaction& transaction) { repository.remove(transaction, "dev", 1); });
    conflict([&](Transaction& transaction) { branches.create(transaction, "new", "dev"); });
  }
}

TEST_CASE("a purged document is in no version of anything, and nothing else is touched, over a restart too") {
  for (const Layout layout : all_layouts) {
    INFO("layout " << static_cast<int>(layout));
    storage::TemporaryDirectory directory;
    Documents main, dev;
    CommitNumber old = 0;
    {
      Repository repository(directory.path(), layout, 12);
      Branches& branches = *repository.branches;
      storage::in_transaction(repository.disk, [&](Transaction& transaction) {
        branches.create(transaction, "dev", "main");
        for (const char* branch : {"dev", "main"}) {
          for (int i = 1; i < 4; ++i) {
            repository.put(transaction, branch, document(1, i, branch[0]));
            repository.put(transaction, branch, document(20, i, branch[0]));
            repository.put(transaction, branch, document(30 + i, i, branch[0]));
            old = branches.commit(transaction, branch, {i, {}})->number;
          }
          repository.remove(transaction, branch, 20);
          branches.commit(transaction, branch, {9, {}});
        }
        repository.put(transaction, "dev", document(1, 7, 7));  // not committed
        repository.put(transaction, "dev", document(2, 7, 7));
      });
      storage::in_transaction(repository.disk, [&](Transaction& transaction) {
        main = repository.read(transaction, repository.view(transaction, "main"));
        dev = repository.read(transaction, repository.view(transaction, "dev"));
        uint64_t lost = 0;
        const auto count = [&](size_t, RecordId, Stamp, BytesView content) {
          lost += id_of(content) == 1 || id_of(content) == 20;
        };
        CHECK(branches.purge(transaction, 0, key_of_id(1), count) == 8);
        CHECK(branches.purge(transaction, 0, key_of_id(20), count) == 6);
        CHECK(branches.purge(transaction, 0, key_of_id(20), count) == 0);
        CHECK(lost == 14);
        main.erase(1);
        dev.erase(1);
      });
    }
    Repository repository(directory.path(), layout);
    Branches& branches = *repository.branches;
    const auto check = [&](Transaction& transaction) {
      CHECK(repository.read(transaction, repository.view(transaction, "main")) == main);
      CHECK(repository.read(transaction, repository.view(transaction, "dev")) == dev);
      const auto scan =
          repository.store().scan_many(transaction, {repository.view(transaction, "main"), repository.view(transaction, "dev")});
      size_t records = 0;
      while (scan->next()) ++records;
      CHECK(records > 12);
    };
    storage::in_transaction(repository.disk, [&](Transaction& transaction) {
      check(transaction);
      const Documents past = repository.read(transaction, branches.view(transaction, old, 0));
      CHECK(past.count(1) + past.count(20) == 0);
      CHECK(past.size() == 14);
      CHECK(repository.store().history(transaction, key_of_id(1)).empty());
      // Numbers of records that went are not given out again: a new record would be shown by states that name the old one.
      for (int id = 1; id < 6; ++id) {
        main[60 + id] = document(60 + id, 1, 1);
        repository.put(transaction, "main", main[60 + id]);
        CHECK(
            repository.read(transaction, branches.view(transaction, branches.head(transaction, "main").head, 0)).count(60 + id) ==
            0);
      }
      main[1] = dev[1] = document(1, 99, 99);
      repository.put(transaction, "main", main[1]);
      repository.put(transaction, "dev", dev[1]);
      branches.commit(transaction, "dev", {10, {}});
      branches.commit(transaction, "main", {11, {}});
      check(transaction);
      const Merged merged =
          branches.merge(transaction, "main", branches.head(transaction, "dev").head, fields(Prefer::ours), {12, {}});
      REQUIRE(merged.commit);
      main[2] = document(2, 7, 7);
      check(transaction);
    });
  }
}
