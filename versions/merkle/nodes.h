// Where nodes are kept, and read from: by their hashes.
//
//   MemoryNodes                      tests, benchmarks
//   TableNodes  table + NodeCache    the engine's: rows hash -> bytes, in the caller's transaction; whole, or against an older node
#pragma once

#include <mutex>

#include "storage/table.h"
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
  // Its hash. There may be one already. `like`: one that was put before and has most of its entries; nullptr: none is known.
  Hash put(NodePtr node, const NodePtr& like = nullptr) {
    const Hash hash = node->hash();
    write(std::move(node), like);
    return hash;
  }

  uint64_t visits() const { return visits_; }  // nodes asked for

 protected:
  virtual NodePtr read(const Hash& hash) = 0;
  virtual void write(NodePtr node, const NodePtr& like) = 0;

 private:
  uint64_t visits_ = 0;
};

// hash -> node, by open addressing: a look-up is one or two lines of memory. Not thread-safe.
class NodeTable {
 public:
  NodeTable();
  // nullptr: not there.
  const NodePtr* find(const Hash& hash) const;
  bool insert(NodePtr node);  // false: was there
  size_t size() const { return size_; }

  // For those who let nodes go: places in turn.
  size_t places() const { return slots_.size(); }
  const NodePtr& at(size_t place) const { return slots_[place].node; }
  bool take_mark(size_t place) { return std::exchange(slots_[place].used, false); }
  void erase(size_t place);

 private:
  struct Slot {
    uint64_t prefix = 0;
    NodePtr node;
    mutable bool used = false;  // since take_mark
  };
  static uint64_t prefix_of(const Hash& hash) { return base::load_le<uint64_t>(hash.data()); }
  size_t home(uint64_t prefix) const { return prefix & (slots_.size() - 1); }
  size_t place_of(const Hash& hash) const;
  void grow();

  std::vector<Slot> slots_;  // a power of two
  size_t size_ = 0;
};

// Everything that was put, for as long as it lives.
class MemoryNodes : public Nodes {
 public:
  size_t count() const { return nodes_.size(); }
  uint64_t bytes() const { return bytes_; }

 protected:
  NodePtr read(const Hash& hash) override;
  void write(NodePtr node, const NodePtr& like) override;

 private:
  NodeTable nodes_;
  uint64_t bytes_ = 0;
};

// Decoded nodes of all transactions, up to so many bytes; those that nobody asks for go first. Thread-safe.
class NodeCache {
 public:
  explicit NodeCache(size_t bytes_max) : bytes_max_(bytes_max) {}
  NodePtr get(const Hash& hash);  // nullptr: not here
  void put(const NodePtr& node);
  size_t bytes() const;

 private:
  const size_t bytes_max_;
  mutable std::mutex mutex_;
  NodeTable nodes_;
  size_t bytes_ = 0;
  size_t hand_ = 0;
};

// A node that is like an older one is kept as a delta of that, after so many in a row whole: what a commit changes are some entries
// of a node a level, and all nodes of its way would be a hundred times as much.
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
  void write(NodePtr node, const NodePtr& like) override;

 private:
  NodePtr read(const Hash& hash, unsigned hops_max);
  std::optional<Bytes> against(const Node& node, const Node& like) const;

  storage::Transaction& transaction_;
  const storage::Table& table_;
  NodeCache& cache_;
  uint64_t read_from_table_ = 0;
};

}  // namespace versions::merkle
