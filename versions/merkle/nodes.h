// Where nodes are kept, and read from: by their hashes.
//
//   MemoryNodes                      tests, benchmarks
//   TableNodes  table + NodeCache    the engine's: rows hash -> bytes, in the caller's transaction; whole, or against an older
//   node
#pragma once

#include <mutex>
#include <optional>

#include "storage/engine/table.h"
#include "versions/merkle/node.h"

namespace versions::merkle {

// Not thread-safe.
class Nodes {
 public:
  virtual ~Nodes() = default;

  // Throws DataCorruptionDetected where there is no such node, or not as it was written.
  NodePtr get(const Hash& hash) {
    ++visits_;
    return read(hash);
  }
  // The node that an inner search node names. It stays for as long as `parent` does and what `held` is set to, or left.
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
  // Its hash. There may be one already. `like`: one that was put before and has most of its entries; nullptr: none is known.
  Hash put(NodePtr node, const NodePtr& like = nullptr) {
    const Hash hash = node->hash();
    write(std::move(node), like);
    return hash;
  }

  // What will be asked for next, and what will be put: so that memory is waited for once and not for each. Nothing else changes.
  virtual void expect(const Node& /*parent*/, std::span<const size_t> /*entries*/) {}
  virtual void expect(std::span<const UnnamedNode> /*sealed*/) {}

  uint64_t visits() const { return visits_; }  // nodes asked for

 protected:
  virtual NodePtr read(const Hash& hash) = 0;
  // May link the two.
  virtual NodePtr read_child(const Node& parent, size_t entry) { return read(parent.child(entry)); }
  virtual void write(NodePtr node, const NodePtr& like) = 0;

 private:
  uint64_t visits_ = 0;
};

// hash -> node, by open addressing: a look-up is one or two lines of memory. An inner node is of one table, and linked to nodes
// of that alone: all go at once with the last who holds one. Not thread-safe.
class NodeTable {
 public:
  NodeTable();
  // nullptr: not there.
  const NodePtr* find(const Hash& hash) const;
  // The node as it is here: one that was there, or a copy of one that is of another table; whether it is new.
  std::pair<NodePtr, bool> insert(NodePtr node);
  // Where the parent is of this table, and the child is in it; what `find` would say of the child.
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

  uint64_t number_;          // no other table of this process has
  std::vector<Slot> slots_;  // a power of two
  size_t size_ = 0;
};

// Everything that was put, for as long as it lives.
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
// The young are full with three quarters of all bytes, or when there are no more: so a quarter at least is free after each turn.
// Links are between the young alone, so that whoever goes through a tree holds what was young together with the nodes of his way,
// and not all that he saw.
class NodeCache {
 public:
  explicit NodeCache(size_t bytes_max) : bytes_max_(bytes_max) {}
  NodePtr get(const Hash& hash);                        // nullptr: not here
  NodePtr get_child(const Node& parent, size_t entry);  // likewise; links them
  void put(const NodePtr& node);
  size_t bytes() const;

 private:
  struct Generation {
    NodeTable nodes;
    size_t bytes = 0;
  };
  using Gone = std::optional<Generation>;
  NodePtr find(const Hash& hash, Gone& gone);
  void add(const NodePtr& node, Gone& gone);

  const size_t bytes_max_;
  mutable std::mutex mutex_;
  Generation young_, old_;
};

// A node that is like an older one is kept as a delta of that, after so many in a row whole: what a commit changes are some
// entries of a node a level, and all nodes of its way would be a hundred times as much.
class TableNodes : public Nodes {
 public:
  static constexpr unsigned hops_max = 16;

  // All three stay for as long as this does.
  TableNodes(storage::Transaction& transaction, const storage::Table& table, NodeCache& cache)
      : transaction_(transaction), table_(table), cache_(cache) {}

  uint64_t read_from_table() const { return read_from_table_; }
  // What a row leans on; nullopt: it is whole.
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
