// What a commit says of a collection's documents: the root of a hash tree.
//
//   key string of the _id  ->  SHA-256 of the document
//
// A POS-Tree: equal documents have equal roots, in whatever order and on whatever branch and server they came about, and a commit
// makes the nodes on the way to what it changed, and no others. Nodes of all collections and commits of a database lie in one table,
// by their hashes. docs/design/0006-merkle.md.
#pragma once

#include <memory>

#include "versions/branch/branch_store.h"
#include "versions/merkle/index.h"

namespace versions {

// Thread-safe; transactions are not. Reads throw DataCorruptionDetected for nodes that are missing or damaged.
class Roots {
 public:
  // `database`: as VersionGraph's. Opens or makes the table, not inside a transaction. `cache` may be shared by databases: a node is what
  // its hash says, wherever it lies.
  Roots(storage::Engine& engine, uint32_t database, std::shared_ptr<merkle::NodeCache> cache);

  Hash empty(Transaction& transaction) const;
  Hash build(Transaction& transaction, Scan& documents) const;
  // In any order. Where a key comes more than once, the document counts.
  Hash update(Transaction& transaction, const Hash& root, std::vector<DocumentHash> changes) const;
  std::optional<Hash> find(Transaction& transaction, const Hash& root, BytesView key) const;
  // Keys whose documents are not the same below both; `b` nullopt: not there. Going up by key; nodes that both have are not read.
  using Visit = std::function<void(BytesView key, const std::optional<Hash>& b)>;
  void diff(Transaction& transaction, const Hash& a, const Hash& b, const Visit& visit) const;

  // That the key has its document, or none: merkle/proof.h.
  Bytes prove(Transaction& transaction, const Hash& root, BytesView key) const;
  // To read them otherwise; all that it is given stays for as long as it does.
  std::unique_ptr<merkle::Nodes> nodes(Transaction& transaction, merkle::NodeCache& cache) const;

  // Takes nodes away that no tree of these roots has, nor any of their deltas leans on, at most so many. Reads the inner nodes of all trees, and
  // each row once. Whoever writes such a node at the same time conflicts. Returns how many went. `interrupted` may throw.
  uint64_t free(Transaction& transaction, const std::vector<Hash>& roots, size_t nodes_max, const std::function<void()>& interrupted) const;

  const std::string& table_name() const { return table_.name(); }

 private:
  Table table_;
  std::shared_ptr<merkle::NodeCache> cache_;
  std::unique_ptr<merkle::Index> index_;
  Hash empty_{};
};

}  // namespace versions
