#include "versions/branch/mended_trees.h"

#include <algorithm>
#include <unordered_set>

#include "base/guarded.h"
#include "storage/engine/engine.h"

namespace versions {

namespace {

using base::guarded;
using storage::in_transaction;
using Child = merkle::Content::Child;

constexpr size_t nodes_bytes = 8 << 20;
constexpr CommitNumber no_commit = 0;

using Hashes = std::unordered_set<Hash, merkle::HashOfHash>;

// Finds out which trees can be read whole. It reads from the table, whatever other caches have.
class WholeTrees {
 public:
  explicit WholeTrees(const Roots& roots, const std::function<void()>& interrupted)
      : roots_(roots), interrupted_(interrupted), cache_(nodes_bytes) {}

  bool has(Transaction& transaction, const Hash& root) {
    if (whole_.contains(root)) return true;
    if (damaged_.contains(root)) return false;
    const auto nodes = roots_.nodes(transaction, cache_);
    std::vector<Step> path;
    path.push_back(look_at(*nodes, {root}));
    for (;;) {
      Step& here = path.back();
      if (here.next < here.children.size()) {
        Child child = std::move(here.children[here.next++]);
        if (whole_.contains(child.hash)) continue;
        if (damaged_.contains(child.hash))
          here.whole = false;
        else
          path.push_back(look_at(*nodes, child));
        continue;
      }
      (here.whole ? whole_ : damaged_).insert(here.hash);
      const bool whole = here.whole;
      path.pop_back();
      if (path.empty()) return whole;
      path.back().whole &= whole;
    }
  }

  // Damaged nodes may have been rebuilt.
  void look_again() { damaged_.clear(); }

 private:
  struct Step {
    Hash hash{};
    std::vector<Child> children = {};
    size_t next = 0;
    bool whole = true;
  };

  Step look_at(merkle::Nodes& nodes, const Child& child) {
    if (interrupted_) interrupted_();
    Step step{.hash = child.hash};
    auto children = guarded([&]() -> std::optional<std::vector<Child>> {
      const merkle::NodePtr node = nodes.get(child.hash);
      return merkle::content_of(*node, child.place).children;
    });
    step.whole = children.has_value();
    if (children) step.children = std::move(*children);
    return step;
  }

  const Roots& roots_;
  const std::function<void()>& interrupted_;
  merkle::NodeCache cache_;
  Hashes whole_, damaged_;
};

class Mender {
 public:
  Mender(storage::Engine& engine, Branches& branches, size_t collection, const TreeKind& now,
         const std::function<void()>& interrupted)
      : engine_(engine),
        branches_(branches),
        graph_(branches.graph()),
        collection_(collection),
        id_(branches.collection(collection).parts.collection),
        now_(now),
        interrupted_(interrupted),
        whole_(branches.roots(), interrupted) {}

  void look_at(CommitNumber number) {
    bool remove = false;
    {
      Transaction transaction(engine_, Transaction::Mode::read);
      if (const auto made = graph_.made_root(transaction, id_, number)) remove = !whole_.has(transaction, made->root);
      if (const auto root = named(transaction, number)) {
        if (!whole_.has(transaction, *root)) damaged_.push_back(number);
        if (const auto kind = kind_of(transaction, *root)) add_kind(*kind);
      }
    }
    if (remove) change([&](Transaction& transaction) { graph_.remove_made_root(transaction, id_, number); });
  }

  MendedTrees mend() {
    MendedTrees mended;
    if (damaged_.empty()) return mended;
    add_kind(now_);
    remove_unreadable();
    for (const CommitNumber number : damaged_) {
      // Trees share nodes, so it may be whole by now.
      if (is_whole(number)) continue;
      if (make(number))
        ++mended.made;
      else
        mended.lost.push_back(number);
      whole_.look_again();
    }
    return mended;
  }

 private:
  void add_kind(const TreeKind& kind) {
    if (std::find(kinds_.begin(), kinds_.end(), kind) == kinds_.end()) kinds_.push_back(kind);
  }
  std::optional<Hash> named(Transaction& transaction, CommitNumber number) const {
    const auto commit = graph_.commit(transaction, number);
    const CollectionState* const state = commit->state_of(id_);
    return state ? commit->root_of(*state) : std::nullopt;
  }
  std::optional<TreeKind> kind_of(Transaction& transaction, const Hash& root) const {
    return guarded([&] { return std::optional(branches_.roots().kind(transaction, root)); });
  }
  bool is_whole(CommitNumber number) {
    Transaction transaction(engine_, Transaction::Mode::read);
    return whole_.has(transaction, *named(transaction, number));
  }
  void change(const std::function<void(Transaction&)>& work) { in_transaction(engine_, work); }

  // Whoever writes a node leaves a row alone that is there, also if it is based on one that isn't.
  void remove_unreadable() {
    const storage::Table table(branches_.roots().table_name());
    std::vector<Hash> unreadable;
    {
      Transaction transaction(engine_, Transaction::Mode::read);
      merkle::NodeCache cache(nodes_bytes);
      const auto nodes = branches_.roots().nodes(transaction, cache);
      TableCursor cursor = table.cursor(transaction);
      while (cursor.next()) {
        if (interrupted_) interrupted_();
        if (cursor.key().size() != sizeof(Hash)) continue;
        const Hash hash = merkle::read_hash(cursor.key().data());
        if (!guarded([&] { return nodes->get(hash); })) unreadable.push_back(hash);
      }
    }
    for (const Hash& hash : unreadable) change([&](Transaction& transaction) { table.remove(transaction, merkle::view(hash)); });
    whole_.look_again();
  }

  // The kind of the next trees is tried last: its tree stays if no kind makes the one that the commit names.
  bool make(CommitNumber number) {
    std::optional<Hash> root;
    std::vector<TreeKind> kinds = kinds_;
    {
      Transaction transaction(engine_, Transaction::Mode::read);
      root = named(transaction, number);
      if (const auto kind = kind_of(transaction, *root)) kinds = {*kind};
    }
    std::erase(kinds, now_);
    kinds.push_back(now_);
    const bool made = std::any_of(kinds.begin(), kinds.end(), [&](const TreeKind& kind) {
      return guarded([&] { return make(number, kind, *root, kind == now_); });
    });
    change([&](Transaction& transaction) { graph_.remove_made_root(transaction, id_, no_commit); });
    return made;
  }

  // `keep`: the tree stays if it isn't the one that the commit names.
  bool make(CommitNumber number, const TreeKind& kind, const Hash& root, bool keep) {
    const Hash tree = tree_of_documents(number, kind);
    bool is_named = false;
    change([&](Transaction& transaction) {
      graph_.remove_made_root(transaction, id_, number);
      is_named = tree == root || with_purged(transaction, number, tree, root) == root;
      if (!is_named && keep) graph_.put_made_root(transaction, id_, number, {tree, {}});
    });
    return is_named;
  }

  Hash tree_of_documents(CommitNumber number, const TreeKind& kind) {
    const size_t documents_max = Branches::TreePart().documents_max;
    Hash tree{};
    change([&](Transaction& transaction) { tree = branches_.roots().empty(transaction, kind); });
    RecordId before = 0;
    for (bool more = true; more;) {
      if (interrupted_) interrupted_();
      Hash next{};
      Branches::SomeDocuments some;
      change([&](Transaction& transaction) {
        const State state = branches_.view(transaction, number, collection_).state;
        some = branches_.some_documents(transaction, state, collection_, before, documents_max);
        more = some.documents.size() == documents_max;
        next = branches_.roots().update(transaction, tree, std::move(some.documents));
        // Nodes that no root leads to may be freed at any time.
        graph_.put_made_root(transaction, id_, no_commit, {next, Bytes(1, '\0')});
      });
      tree = next;
      before = some.last;
    }
    return tree;
  }

  // The damaged tree may be the only place that still has the hash of a purged document.
  Hash with_purged(Transaction& transaction, CommitNumber number, const Hash& made, const Hash& root) {
    const State state = branches_.view(transaction, number, collection_).state;
    std::vector<DocumentHash> changes;
    for (Bytes& key : branches_.store(collection_).purged_of(transaction, state).keys) {
      if (key.empty()) continue;
      auto hash = guarded([&] { return branches_.roots().find(transaction, root, key); });
      if (hash) changes.push_back({std::move(key), hash});
    }
    return branches_.roots().update(transaction, made, std::move(changes));
  }

  storage::Engine& engine_;
  Branches& branches_;
  VersionGraph& graph_;
  const size_t collection_;
  const storage::CollectionId id_;
  const TreeKind now_;
  const std::function<void()>& interrupted_;
  WholeTrees whole_;
  std::vector<TreeKind> kinds_;
  std::vector<CommitNumber> damaged_;
};

}  // namespace

MendedTrees mend_trees(storage::Engine& engine, Branches& branches, size_t collection, const TreeKind& now,
                       const std::function<void()>& interrupted) {
  std::vector<CommitNumber> commits;
  {
    Transaction transaction(engine, Transaction::Mode::read);
    for (const auto& [number, node] : branches.graph().graph(transaction)) {
      if (!node.dropped) commits.push_back(number);
    }
  }
  Mender mender(engine, branches, collection, now, interrupted);
  for (const CommitNumber number : commits) mender.look_at(number);
  return mender.mend();
}

}  // namespace versions
