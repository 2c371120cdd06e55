// A TriePart is a part of a trie that is being changed: a path, and what is at its end.
#pragma once

#include "versions/merkle/nodes.h"
#include "versions/merkle/trie_node.h"

namespace versions::merkle {

// The nodes that stand for it are chosen when it is stored, so that equal parts have equal nodes.
struct TriePart {
  enum class Kind : uint8_t {
    none,
    stored,  // a node of any kind that wasn't read yet; it has no path
    leaf,
    branch,  // a branch node, by its hash
  };
  Kind kind = Kind::none;
  Path path;
  Hash hash{};      // for stored and branch
  BytesView value;  // for leaf
  NodePtr node;     // leaf: the node that has `value`, nullptr: it is the caller's; branch: the node if it was read already

  static TriePart of_stored(const Hash& hash) { return {Kind::stored, {}, hash, {}, nullptr}; }
  static TriePart of_leaf(Path path, BytesView value, NodePtr node = nullptr) {
    return {Kind::leaf, std::move(path), {}, value, std::move(node)};
  }
  bool none() const { return kind == Kind::none; }
};

// A part, seen as a branch at a place on its path.
struct TrieFork {
  std::vector<TriePart> children = std::vector<TriePart>(16);  // on the heap: each level of the recursion has a fork
  std::optional<BytesView> value;
  NodePtr node;  // the node that has `value`
};

TriePart load(Nodes& nodes, TriePart part);  // the result isn't `stored`
// The part must be loaded, and `path_length` at most its path's length.
TrieFork fork_at(Nodes& nodes, const TriePart& part, size_t path_length);
TriePart join(Nodes& nodes, TrieFork fork);  // writes the branch, if there must be one
Hash store(Nodes& nodes, const TriePart& part);

size_t common_length(const Path& a, BytesView b);

}  // namespace versions::merkle
