// A part of a trie as it is worked on: a path, and what is at its end.
#pragma once

#include "versions/merkle/nodes.h"
#include "versions/merkle/trie_node.h"

namespace versions::merkle {

// Which nodes stand for it is decided when it is stored, so that equal parts have equal nodes.
struct TriePart {
  enum class Kind : uint8_t {
    none,
    stored,  // a node of any kind, not read yet; no path
    leaf,
    branch,  // a branch node, by its hash
  };
  Kind kind = Kind::none;
  Path path;
  Hash hash{};      // stored, branch
  BytesView value;  // leaf
  NodePtr node;     // leaf: that `value` is in, nullptr: it is the caller's; branch: where it was read already

  static TriePart of_stored(const Hash& hash) { return {Kind::stored, {}, hash, {}, nullptr}; }
  static TriePart of_leaf(Path path, BytesView value, NodePtr node = nullptr) {
    return {Kind::leaf, std::move(path), {}, value, std::move(node)};
  }
  bool none() const { return kind == Kind::none; }
};

// A part seen as a branch at a place on its path.
struct TrieFork {
  std::vector<TriePart> children = std::vector<TriePart>(16);  // not in the frame: there is a fork a level of the recursion
  std::optional<BytesView> value;
  NodePtr node;  // that `value` is in
};

TriePart load(Nodes& nodes, TriePart part);                                // not `stored` any more
TrieFork fork_at(Nodes& nodes, const TriePart& part, size_t path_length);  // of a loaded part; at most its path's length
TriePart join(Nodes& nodes, TrieFork fork);                                // writes the branch, where there has to be one
Hash store(Nodes& nodes, const TriePart& part);

size_t common_length(const Path& a, BytesView b);

}  // namespace versions::merkle
