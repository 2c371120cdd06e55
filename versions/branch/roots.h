// A commit names a collection's documents by the root of a hash tree.
//
//   key string of the _id  ->  SHA-256 of the document
//
// In trees of one kind, equal documents have equal roots, whatever the order of writes, the branch and the server. A commit makes
// the nodes on the way to what it changed, and no others. A root node says which kind its tree is. Nodes of all collections and
// commits of a database lie in one table, by their hashes. docs/design/0006-merkle.md.
#pragma once

#include <array>
#include <memory>

#include "versions/branch/branch_store.h"
#include "versions/branch/tree_kind.h"

namespace versions {

// Thread-safe; transactions are not. Reads throw DataCorruptionDetected for nodes that are missing or damaged.
class Roots {
 public:
  // `database` is as for VersionGraph. Opens the table, or makes it; must not be called inside a transaction. Databases may share
  // `cache`, since a node is named by its hash wherever it lies.
  Roots(storage::Engine& engine, uint32_t database, std::shared_ptr<merkle::NodeCache> cache);

  Hash empty(Transaction& transaction, const TreeKind& kind = {}) const;
  TreeKind kind(Transaction& transaction, const Hash& root) const;
  // `changes` may have any order. If a key occurs twice, the entry that has a document counts. Throws BadValue for keys that the
  // tree doesn't take.
  Hash update(Transaction& transaction, const Hash& root, std::vector<DocumentHash> changes) const;
  std::optional<Hash> find(Transaction& transaction, const Hash& root, BytesView key) const;
  // Returns at most so many documents behind this key, in the tree's own order.
  std::vector<DocumentHash> some(Transaction& transaction, const Hash& root, const std::optional<Bytes>& behind,
                                 size_t count_max) const;
  // Visits the keys whose documents differ between two trees, until a visit returns false. `b` is nullopt if the second tree
  // doesn't have the key. Trees of one kind are walked in their own order, without the nodes that both have; of two kinds the
  // first is walked whole, and then the second for the keys that it alone has. Nodes on the way are all that is held.
  using Visit = std::function<bool(BytesView key, const std::optional<Hash>& b)>;
  void diff(Transaction& transaction, const Hash& a, const Hash& b, const Visit& visit) const;

  // Proves which document the key has, or that it has none: merkle/proof.h.
  Bytes prove(Transaction& transaction, const Hash& root, BytesView key) const;
  // Returns what reads the trees' nodes one by one. The arguments must outlive it.
  std::unique_ptr<merkle::Nodes> nodes(Transaction& transaction, merkle::NodeCache& cache) const;

  // Removes at most so many nodes that no tree of these roots has, and that none of their deltas is based on. It reads the inner
  // nodes, and passes over all rows, twice if there are tries. Another transaction that writes such a node at the same time
  // conflicts. Returns how many nodes went. `interrupted` may throw.
  uint64_t free(Transaction& transaction, const std::vector<Hash>& roots, size_t nodes_max,
                const std::function<void()>& interrupted) const;

  const std::string& table_name() const { return table_.name(); }

 private:
  const merkle::Index& index(merkle::Structure structure) const { return *indexes_[static_cast<size_t>(structure)]; }
  const merkle::Index& index_of(merkle::Nodes& nodes, const Hash& root) const;
  void diff_kinds(merkle::Nodes& nodes, const Hash& a, const Hash& b, const Visit& visit) const;

  Table table_;
  std::shared_ptr<merkle::NodeCache> cache_;
  std::array<std::unique_ptr<merkle::Index>, 3> indexes_;  // by Structure; a tree's root says what else it was made with
  Hash empty_{};
};

}  // namespace versions
