// Ways through ordered trees of search nodes.
#pragma once

#include "versions/merkle/nodes.h"

namespace versions::merkle {

NodePtr search_node(Nodes& nodes, const Hash& hash);  // throws BadValue where it is a node of another structure
// What the parent says is below it: one level lower, with entries. Its name was checked, but not who made it: throws
// DataCorruptionDetected. It stays as Nodes::child says.
const Node& search_child(Nodes& nodes, const Node& parent, size_t entry, NodePtr& held);

// A node on the way down. It stays for as long as the step and those before it.
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

  void next();                                               // behind the entry and all below it
  void down() { path_.emplace_back(nodes_, path_.back()); }  // to the first entry of the child
  void down_to_leaf() {
    while (level() > 0) down();
  }
  void seek(BytesView key);  // from the start: to the first entry of a leaf that isn't below `key`

 private:
  void pop_finished();

  Nodes& nodes_;
  std::vector<WalkStep> path_;
};

// Stands on a node of one level, and goes forward. Of a tree with that level.
class LevelWalk {
 public:
  LevelWalk(Nodes& nodes, NodePtr root, unsigned level);

  const Node& node() const { return *path_.back().node; }
  const Node* parent() const { return path_.size() > 1 ? path_[path_.size() - 2].node : nullptr; }  // nullptr: of the root
  bool is_last() const;
  void seek(BytesView key);  // forward, to the node that has the key or would; the last one, where it is behind all
  void next();               // not from the last one

 private:
  void down() { path_.emplace_back(nodes_, path_.back()); }

  Nodes& nodes_;
  unsigned level_;
  std::vector<WalkStep> path_;  // the root first, down to the level
};

}  // namespace versions::merkle
