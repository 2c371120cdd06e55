// What a commit says of a collection's documents: the root of a hash tree.
//
//   key string of the _id  ->  SHA-256 of the document
//
// Equal documents have equal roots in trees of one kind, in whatever order and on whatever branch and server they came about, and
// a commit makes the nodes on the way to what it changed, and no others. What kind a tree is says its root node. Nodes of all
// collections and commits of a database lie in one table, by their hashes. docs/design/0006-merkle.md.
#pragma once

#include <array>
#include <memory>

#include "versions/branch/branch_store.h"
#include "versions/branch/tree_kind.h"

namespace versions {

// Thread-safe; transactions are not. Reads throw DataCorruptionDetected for nodes that are missing or damaged.
class Roots {
 public:
  // `database`: as VersionGraph's. Opens or makes the table, not inside a transaction. `cache` may be shared by databases: a node
  // is what its hash says, wherever it lies.
  Roots(storage::Engine& engine, uint32_t database, std::shared_ptr<merkle::NodeCache> cache);

  Hash empty(Transaction& transaction, const TreeKind& kind = {}) const;
  TreeKind kind(Transaction& transaction, const Hash& root) const;
  // In any order. Where a key comes more than once, the document counts. Throws BadValue for keys that the tree doesn't take.
  Hash update(Transaction& transaction, const Hash& root, std::vector<DocumentHash> changes) const;
  std::optional<Hash> find(Transaction& transaction, const Hash& root, BytesView key) const;
  // Of documents in the tree's own order, behind this key, at most so many.
  std::vector<DocumentHash> some(Transaction& transaction, const Hash& root, const std::optional<Bytes>& behind,
                                 size_t count_max) const;
  // Keys whose documents are not the same below both; `b` nullopt: not there. Going up by key. Of trees of one kind nodes that
  // both have are not read; of two kinds all of both is.
  using Visit = std::function<void(BytesView key, const std::optional<Hash>& b)>;
  void diff(Transaction& transaction, const Hash& a, const Hash& b, const Visit& visit) const;

  // That the key has its document, or none: merkle/proof.h.
  Bytes prove(Transaction& transaction, const Hash& root, BytesView key) const;
  // To read them otherwise; all that it is given stays for as long as it does.
  std::unique_ptr<merkle::Nodes> nodes(Transaction& transaction, merkle::NodeCache& cache) const;

  // Takes nodes away that no tree of these roots has, nor any of their deltas leans on, at most so many. Reads the inner nodes,
  // and passes over all rows, twice where there are tries. Whoever writes such a node at the same time conflicts. Returns how
  // many went. `interrupted` may throw.
  uint64_t free(Transaction& transaction, const std::vector<Hash>& roots, size_t nodes_max,
                const std::function<void()>& interrupted) const;

  const std::string& table_name() const { return table_.name(); }

 private:
  const merkle::Index& index(merkle::Structure structure) const { return *indexes_[static_cast<size_t>(structure)]; }
  const merkle::Index& index_of(merkle::Nodes& nodes, const Hash& root) const;
  void diff_kinds(merkle::Nodes& nodes, const Hash& a, const Hash& b, const Visit& visit) const;

  Table table_;
  std::shared_ptr<merkle::NodeCache> cache_;
  std::array<std::unique_ptr<merkle::Index>, 3> indexes_;  // by Structure; what else a tree was made with says its root
  Hash empty_{};
};

}  // namespace versions
