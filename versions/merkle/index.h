// An index is an immutable map from keys to values, named by one hash: equal contents have equal hashes.
//
//   const auto index = make_index({.structure = Structure::pos_tree});
//   Hash root = index->empty(nodes);
//   root = index->update(nodes, root, changes);       // the old root still names the old map
//   auto found = index->find(nodes, root, key);
//   Bytes proof = index->prove(nodes, root, key);     // for proof.h, or tools/verify_proof
//
// There are four structures (Yue et al., "Analysis of Indexing Structures for Immutable Data", SIGMOD 2020, §3.4, §5.2). In all
// but the baseline the contents alone decide the nodes, whatever the order of changes. Thread-safe; Nodes are not. Reads throw
// DataCorruptionDetected for nodes that are missing or damaged.
#pragma once

#include <functional>
#include <optional>

#include "versions/merkle/nodes.h"

namespace versions::merkle {

enum class Structure : uint8_t { pos_tree, patricia_trie, bucket_tree, mvmb_tree };

// The rule that decides where a POS-Tree's nodes end.
enum class Boundary : uint8_t {
  key_hash,     // a hash of the entry's key, and the node's length so far: another value of the same length moves no end
  byte_window,  // a rolling hash over the leaf's bytes, and above the leaves the children's hashes (as in the paper)
};

struct IndexOptions {
  Structure structure = Structure::pos_tree;
  Boundary boundary = Boundary::key_hash;
  uint32_t node_bytes = 1024;  // the average size of a node of a POS-Tree or MVMB+-Tree; 64 to 65,536
  uint32_t buckets = 10'000;   // for a bucket tree; never changes in its life
  uint32_t fan_out = 32;       // for its inner nodes; 2 to 65,536
};

struct Change {
  BytesView key;
  std::optional<BytesView> value;  // nullopt: the key is removed, if it is there
};

struct Found {
  NodePtr node;  // keeps `value` alive
  BytesView value;
};

struct Difference {
  BytesView key;
  std::optional<BytesView> a, b;  // they differ; nullopt: that map doesn't have the key
};

// Their arguments are valid for the call. If they return false, the walk stops.
using VisitEntry = std::function<bool(BytesView key, BytesView value)>;
using VisitDifference = std::function<bool(const Difference&)>;

class Index {
 public:
  virtual ~Index() = default;

  virtual Hash empty(Nodes& nodes) const = 0;
  // `changes` must be ascending by key, each key once. Writes the nodes that are new. Throws BadValue for keys that a trie
  // doesn't take: those longer than 1,024 bytes.
  virtual Hash update(Nodes& nodes, const Hash& root, std::span<const Change> changes) const = 0;
  Hash build(Nodes& nodes, std::span<const Change> entries) const { return update(nodes, empty(nodes), entries); }
  Hash put(Nodes& nodes, const Hash& root, BytesView key, BytesView value) const;
  Hash remove(Nodes& nodes, const Hash& root, BytesView key) const;

  virtual std::optional<Found> find(Nodes& nodes, const Hash& root, BytesView key) const = 0;

  // Walks in the index's own order: by key, but in a bucket tree bucket by bucket. It begins at `from`, or where that key would
  // be.
  virtual void scan(Nodes& nodes, const Hash& root, std::optional<BytesView> from, const VisitEntry& visit) const = 0;

  // Visits the keys that only one of the two has, or whose values differ, in the index's own order. Reads only nodes that differ,
  // and their neighbours. Both must have this structure, and bucket trees the same numbers.
  virtual void diff(Nodes& nodes, const Hash& a, const Hash& b, const VisitDifference& visit) const = 0;

  // Proves that the key has its value, or that it isn't there. Format: docs/formats/merkle.md.
  virtual Bytes prove(Nodes& nodes, const Hash& root, BytesView key) const = 0;
};

// Throws BadValue for options out of their ranges.
std::unique_ptr<Index> make_index(const IndexOptions& options);

// The structure of the tree that has this root. The baseline looks like a POS-Tree.
Structure structure_of(const Node& root);

// The nodes that this one names, in order.
std::vector<Hash> children_of(const Node& node);
// Returns whether the nodes that it names name no others.
bool names_leaves(const Node& node);

// The contents of a node, for somebody who walks through a tree alone. `place` is what the node above says of this one; it is
// empty for a root.
struct Content {
  struct Child {
    Hash hash{};
    Bytes place = {};
  };
  std::vector<Child> children;
  std::vector<std::pair<Bytes, BytesView>> entries;  // valid as long as the node
};
Content content_of(const Node& node, const Bytes& place);

// Visits the node and all nodes below it, parents first. A shared node is visited as often as it is named. If `visit` returns
// false, the walk doesn't go below the node.
void for_each_node(Nodes& nodes, const Hash& root, const std::function<bool(const Node&)>& visit);

}  // namespace versions::merkle
