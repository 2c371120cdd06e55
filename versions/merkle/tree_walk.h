// These walks go through ordered trees of search nodes.
#pragma once

#include "versions/merkle/nodes.h"

namespace versions::merkle {

NodePtr search_node(Nodes& nodes, const Hash& hash);  // throws BadValue for a node of another structure
// The child, which must be one level lower and have entries. Its name is right, but anybody may have made it: throws
// DataCorruptionDetected for another node. It lives as Nodes::child says.
const Node& search_child(Nodes& nodes, const Node& parent, size_t entry, NodePtr& held);

// A WalkStep is a node on the way down. It lives as long as the step and the steps before it.
struct WalkStep {
  explicit WalkStep(NodePtr root) : held(std::move(root)), node(held.get()) {}
  WalkStep(Nodes& nodes, const WalkStep& parent) : node(&search_child(nodes, *parent.node, parent.entry, held)) {}

  NodePtr held;  // nullptr: the parent holds it
  const Node* node;
  size_t entry = 0;
};

// Stands on an entry of a node of any level, and goes down or on from there.
class TreeWalk {
 public:
  TreeWalk(Nodes& nodes, const Hash& root);

  bool done() const { return path_.empty(); }
  const Node& node() const { return *path_.back().node; }
  size_t entry() const { return path_.back().entry; }
  unsigned level() const { return node().level(); }
  BytesView key() const { return node().key(entry()); }
  BytesView value() const { return node().value(entry()); }

  void next();                                               // goes behind the entry and all entries below it
  void down() { path_.emplace_back(nodes_, path_.back()); }  // goes to the first entry of the child
  void down_to_leaf() {
    while (level() > 0) down();
  }
  void seek(BytesView key);  // only at the beginning: goes to the first entry of a leaf that isn't below `key`

 private:
  void pop_finished();

  Nodes& nodes_;
  std::vector<WalkStep> path_;
};

// Stands on a node of one level, and goes forward. The tree must have that level.
class LevelWalk {
 public:
  LevelWalk(Nodes& nodes, NodePtr root, unsigned level);

  const Node& node() const { return *path_.back().node; }
  // nullptr: it stands on the root.
  const Node* parent() const { return path_.size() > 1 ? path_[path_.size() - 2].node : nullptr; }
  bool is_last() const;
  void seek(BytesView key);  // forward, to the node that has the key or would have it; to the last one if the key is behind all
  void next();               // must not stand on the last one

 private:
  void down() { path_.emplace_back(nodes_, path_.back()); }

  Nodes& nodes_;
  unsigned level_;
  std::vector<WalkStep> path_;  // from the root down to the level
};

}  // namespace versions::merkle
