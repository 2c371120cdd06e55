// An immutable map from keys to values, called by one hash: equal contents, equal hash.
//
//   const auto index = make_index({.structure = Structure::pos_tree});
//   Hash root = index->empty(nodes);
//   root = index->update(nodes, root, changes);       // the old root goes on being what it was
//   auto found = index->find(nodes, root, key);
//   Bytes proof = index->prove(nodes, root, key);     // for proof.h, or tools/verify_proof
//
// Four structures (Yue et al., "Analysis of Indexing Structures for Immutable Data", SIGMOD 2020, §3.4, §5.2). In all but the
// baseline the nodes follow from the contents alone, however these came about. Thread-safe; Nodes are not. Reads throw
// DataCorruptionDetected for nodes that are missing or damaged.
#pragma once

#include <functional>
#include <optional>

#include "versions/merkle/nodes.h"

namespace versions::merkle {

enum class Structure : uint8_t { pos_tree, patricia_trie, bucket_tree, mvmb_tree };

// Where a POS-Tree's nodes end.
enum class Boundary : uint8_t {
  key_hash,     // by a hash of the entry's key and the node's length so far: what values are, or become, moves nothing
  byte_window,  // by a rolling hash over the leaf's bytes, and by the children's hashes above (the paper's)
};

struct IndexOptions {
  Structure structure = Structure::pos_tree;
  Boundary boundary = Boundary::key_hash;
  uint32_t node_bytes = 1024;  // what nodes of a POS-Tree or MVMB+-Tree have on average; 64 to 65,536
  uint32_t buckets = 10'000;   // of a bucket tree; fixed for its life
  uint32_t fan_out = 32;       // of its inner nodes; 2 to 65,536
};

struct Change {
  BytesView key;
  std::optional<BytesView> value;  // nullopt: removed, if it is there
};

struct Found {
  NodePtr node;  // keeps `value`
  BytesView value;
};

struct Difference {
  BytesView key;
  std::optional<BytesView> a, b;  // not equal
};

// What they are given is valid for the call; false stops.
using VisitEntry = std::function<bool(BytesView key, BytesView value)>;
using VisitDifference = std::function<bool(const Difference&)>;

class Index {
 public:
  virtual ~Index() = default;

  virtual Hash empty(Nodes& nodes) const = 0;
  // `changes`: ascending by key, each key once. Writes the nodes that are new. Throws BadValue for keys that a trie doesn't
  // take: longer than 1,024 bytes.
  virtual Hash update(Nodes& nodes, const Hash& root, std::span<const Change> changes) const = 0;
  Hash build(Nodes& nodes, std::span<const Change> entries) const { return update(nodes, empty(nodes), entries); }
  Hash put(Nodes& nodes, const Hash& root, BytesView key, BytesView value) const;
  Hash remove(Nodes& nodes, const Hash& root, BytesView key) const;

  virtual std::optional<Found> find(Nodes& nodes, const Hash& root, BytesView key) const = 0;

  // In the index's own order: by key, but in a bucket tree bucket by bucket. `from`: begins there, wherever that would be.
  virtual void scan(Nodes& nodes, const Hash& root, std::optional<BytesView> from, const VisitEntry& visit) const = 0;

  // What is in one of the two, or not the same in both; in the index's own order. Reads only nodes that differ, and their
  // neighbours. Both are of this structure, and (buckets) of the same numbers.
  virtual void diff(Nodes& nodes, const Hash& a, const Hash& b, const VisitDifference& visit) const = 0;

  // That the key has its value, or isn't there. Format: docs/formats/merkle.md.
  virtual Bytes prove(Nodes& nodes, const Hash& root, BytesView key) const = 0;
};

// Throws BadValue for options out of their ranges.
std::unique_ptr<Index> make_index(const IndexOptions& options);

// What a tree is that has this root: the baseline can't be told from a POS-Tree.
Structure structure_of(const Node& root);

// The nodes that this one names, in order.
std::vector<Hash> children_of(const Node& node);
// They name no others.
bool names_leaves(const Node& node);

// What a node says, for who goes through a tree by himself. `place`: what the node above says of this one; empty for a root.
struct Content {
  struct Child {
    Hash hash{};
    Bytes place = {};
  };
  std::vector<Child> children;
  std::vector<std::pair<Bytes, BytesView>> entries;  // valid for as long as the node
};
Content content_of(const Node& node, const Bytes& place);

// The node itself and all below it, parents first, shared ones as often as they are named. What `visit` returns says whether
// to go on below.
void for_each_node(Nodes& nodes, const Hash& root, const std::function<bool(const Node&)>& visit);

}  // namespace versions::merkle
