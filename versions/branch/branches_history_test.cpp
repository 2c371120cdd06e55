// One suite runs over all layouts: it compares random histories of branches with plain maps.
#include "versions/branch/branches.h"

#include <set>

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
    repository_->branches->roots().diff(transaction, in_a, in_b, [&](BytesView key, const std::optional<Hash>& hash) {
      by_tree[Bytes(key)] = hash;
      return true;
    });
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
