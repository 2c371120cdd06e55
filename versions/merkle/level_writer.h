// A LevelWriter writes one level of a search tree, entry by entry.
#pragma once

#include "versions/merkle/cutter.h"
#include "versions/merkle/node.h"

namespace versions::merkle {

class LevelWriter {
 public:
  LevelWriter(Cut cut, unsigned level, uint32_t node_bytes)
      : cut_(cut), node_bytes_(node_bytes), builder_(level), cutter_(cut, level, node_bytes) {}

  // The bytes must stay valid until `end_old_node` and the next `between_nodes`.
  void add(BytesView key, BytesView value);
  void add(const Node& from, size_t entry);
  // Only between nodes: adds all entries of an old node, some with other values of the same lengths.
  void add(const Node& from, std::span<const NodeBuilder::Replacement> values);
  // Returns whether the new node then ends where the old node ended.
  bool keeps_end(const Node& from) const;
  // Called when all entries are there that stood in one old node, or come between its entries.
  void end_old_node() {
    if (cut_ == Cut::overflow) split();
  }
  bool between_nodes() const { return builder_.empty(); }
  void end_level() {
    if (!builder_.empty()) end_node();
  }

  size_t made() const { return nodes_.size(); }
  // The nodes that were made since the last call, sealed.
  std::vector<UnnamedNode> take();

 private:
  struct Item {
    const Node* from = nullptr;  // nullptr: `key` and `value`
    size_t entry = 0;
    BytesView key, value;
    size_t bytes = 0;
  };
  static constexpr size_t at_once = 128;

  void split();
  void end_node();
  void seal();

  Cut cut_;
  uint32_t node_bytes_;
  NodeBuilder builder_;
  Cutter cutter_;
  std::vector<UnnamedNode> nodes_;
  size_t sealed_ = 0;        // how many of these are sealed
  std::vector<Item> items_;  // for `overflow`
};

}  // namespace versions::merkle
