// These stores keep nodes by their hashes.
//
//   MemoryNodes                      tests, benchmarks
//   TableNodes  table + NodeCache    the engine's rows, hash -> node or a delta, in the caller's transaction
#pragma once

#include <optional>

#include "base/mutex.h"
#include "storage/engine/table.h"
#include "versions/merkle/node.h"

namespace versions::merkle {

// This class is not thread-safe.
class Nodes {
 public:
  virtual ~Nodes() = default;

  // Throws DataCorruptionDetected if there is no such node, or it isn't as it was written.
  NodePtr get(const Hash& hash) {
    ++visits_;
    return read(hash);
  }
  // The node that an inner search node names. It lives as long as `parent`, and as the node that `held` is set to, or left at.
  const Node& child(const Node& parent, size_t entry, NodePtr& held) {
    ++visits_;
    const Node* linked = parent.linked(entry);
    if (linked == nullptr) {
      NodePtr child = read_child(parent, entry);
      linked = parent.linked(entry);
      if (linked == nullptr) {
        held = std::move(child);
        return *held;
      }
    }
    linked->prefetch();
    return *linked;
  }
  // Stores a node, and returns its hash. The node may exist already. `like` is a node that was put before and has most of its
  // entries; nullptr: none is known.
  Hash put(NodePtr node, const NodePtr& like = nullptr) {
    const Hash hash = node->hash();
    write(std::move(node), like);
    return hash;
  }

  // Announces nodes that will be asked for next, or put, so that one wait for memory serves all of them. Nothing else changes.
  virtual void expect(const Node& /*parent*/, std::span<const size_t> /*entries*/) {}
  virtual void expect(std::span<const UnnamedNode> /*sealed*/) {}

  uint64_t visits() const { return visits_; }  // how many nodes were asked for

 protected:
  virtual NodePtr read(const Hash& hash) = 0;
  // May link the two.
  virtual NodePtr read_child(const Node& parent, size_t entry) { return read(parent.child(entry)); }
  virtual void write(NodePtr node, const NodePtr& like) = 0;

 private:
  uint64_t visits_ = 0;
};

// hash -> node, by open addressing: a look-up reads one or two cache lines. An inner node belongs to one table, and is linked to
// nodes of that table only; they all go together with the last owner. Not thread-safe.
class NodeTable {
 public:
  NodeTable();
  // nullptr: the node isn't there.
  const NodePtr* find(const Hash& hash) const;
  // The node as this table has it: the one that was there, or a copy of one that belongs to another table; and whether it is new.
  std::pair<NodePtr, bool> insert(NodePtr node);
  // It returns what `find` does for the child, if the parent belongs to this table and the child is in it.
  const NodePtr* find_child(const Node& parent, size_t entry) const;
  void expect(const Hash& hash) const { __builtin_prefetch(&slots_[home(prefix_of(hash))]); }
  size_t size() const { return size_; }

 private:
  struct Slot {
    uint64_t prefix = 0;
    NodePtr node;
  };
  static uint64_t prefix_of(const Hash& hash) { return base::load_le<uint64_t>(hash.data()); }
  size_t home(uint64_t prefix) const { return prefix & (slots_.size() - 1); }
  void put(uint64_t prefix, NodePtr node);

  uint64_t number_;          // no other table of this process has the number
  std::vector<Slot> slots_;  // a power of two
  size_t size_ = 0;
};

// Keeps everything that was put, as long as it lives.
class MemoryNodes : public Nodes {
 public:
  size_t count() const { return nodes_.size(); }
  uint64_t bytes() const { return bytes_; }

  void expect(const Node& parent, std::span<const size_t> entries) override;
  void expect(std::span<const UnnamedNode> sealed) override;

 protected:
  NodePtr read(const Hash& hash) override;
  NodePtr read_child(const Node& parent, size_t entry) override;
  void write(NodePtr node, const NodePtr& like) override;

 private:
  NodeTable nodes_;
  uint64_t bytes_ = 0;
};

// Decoded nodes of all transactions, up to so many bytes. Thread-safe.
//
//   put, found --> young ---- it is full ----> old ----> gone
//                    ^------- asked for -------'
//
// The young part is full with three quarters of all bytes, or when there are no more bytes, so that a quarter at least is free
// after each turn. Only young nodes are linked to each other: whoever walks through a tree keeps alive what was young together
// with the nodes on the way, and not all nodes that were seen.
class NodeCache {
 public:
  explicit NodeCache(size_t bytes_max) : bytes_max_(bytes_max) {}
  NodePtr get(const Hash& hash);                        // nullptr: the node isn't in the cache
  NodePtr get_child(const Node& parent, size_t entry);  // as get(); links the two
  void put(const NodePtr& node);
  size_t bytes() const;

 private:
  struct Generation {
    NodeTable nodes;
    size_t bytes = 0;
  };
  using Gone = std::optional<Generation>;
  NodePtr find(const Hash& hash, Gone& gone) REQUIRES(mutex_);
  void add(const NodePtr& node, Gone& gone) REQUIRES(mutex_);

  const size_t bytes_max_;
  mutable base::Mutex mutex_;
  Generation young_ GUARDED_BY(mutex_), old_ GUARDED_BY(mutex_);
};

// Stores a node that is like an older one as a delta of it; after so many deltas in a row a node is stored whole. A commit
// changes a few entries in one node of each level, and all nodes on their way would take a hundred times the bytes.
class TableNodes : public Nodes {
 public:
  static constexpr unsigned hops_max = 16;

  // All three must outlive this.
  TableNodes(storage::Transaction& transaction, const storage::Table& table, NodeCache& cache)
      : transaction_(transaction), table_(table), cache_(cache) {}

  uint64_t read_from_table() const { return read_from_table_; }
  // The base of a row's delta; nullopt: the row has the node whole.
  static std::optional<Hash> base_of(BytesView row);

 protected:
  NodePtr read(const Hash& hash) override;
  NodePtr read_child(const Node& parent, size_t entry) override;
  void write(NodePtr node, const NodePtr& like) override;

 private:
  Bytes read_bytes(const Hash& hash);
  std::optional<Bytes> against(const Node& node, const Node& like) const;

  storage::Transaction& transaction_;
  const storage::Table& table_;
  NodeCache& cache_;
  uint64_t read_from_table_ = 0;
};

}  // namespace versions::merkle
