#include "versions/merkle/trie_part.h"

#include <algorithm>

namespace versions::merkle {
namespace {

Hash put(Nodes& nodes, const TrieNode& node, const NodePtr& like = nullptr) {
  return nodes.put(Node::whole(write_trie_node(node)), like);
}

}  // namespace

TriePart load(Nodes& nodes, TriePart part) {
  if (part.kind != TriePart::Kind::stored) return part;
  NodePtr node = nodes.get(part.hash);
  TrieNode content = trie_node_of(*node);
  switch (content.kind) {
    case NodeKind::trie_leaf: return TriePart::of_leaf(std::move(content.path), *content.value, std::move(node));
    case NodeKind::trie_extension:
      return {TriePart::Kind::branch, std::move(content.path), content.children[0].second, {}, nullptr};
    default:
      // This is the root of an empty trie.
      if (content.children.empty() && !content.value) return {};
      return {TriePart::Kind::branch, {}, part.hash, {}, std::move(node)};
  }
}

TrieFork fork_at(Nodes& nodes, const TriePart& part, size_t path_length) {
  TrieFork fork;
  if (part.none()) return fork;
  if (path_length < part.path.size()) {
    TriePart& child = fork.children[static_cast<size_t>(part.path[path_length])];
    child = part;
    child.path.erase(0, path_length + 1);
    return fork;
  }
  if (part.kind == TriePart::Kind::leaf) {
    fork.value = part.value;
    fork.node = part.node;
    return fork;
  }
  fork.node = part.node ? part.node : nodes.get(part.hash);
  const TrieNode content = trie_node_of(*fork.node);
  for (const auto& [nibble, hash] : content.children) fork.children[static_cast<size_t>(nibble)] = TriePart::of_stored(hash);
  fork.value = content.value;
  return fork;
}

TriePart join(Nodes& nodes, TrieFork fork) {
  size_t present = 0, last = 0;
  for (size_t i = 0; i < fork.children.size(); ++i) {
    if (!fork.children[i].none()) ++present, last = i;
  }
  if (present == 0) return fork.value ? TriePart::of_leaf({}, *fork.value, fork.node) : TriePart{};
  if (present == 1 && !fork.value) {
    TriePart only = load(nodes, std::move(fork.children[last]));
    only.path.insert(only.path.begin(), static_cast<char>(last));
    return only;
  }
  TrieNode branch;
  branch.kind = NodeKind::trie_branch;
  branch.value = fork.value;
  for (size_t i = 0; i < fork.children.size(); ++i) {
    if (!fork.children[i].none()) branch.children.emplace_back(static_cast<char>(i), store(nodes, fork.children[i]));
  }
  return {TriePart::Kind::branch, {}, put(nodes, branch, fork.node), {}, nullptr};
}

Hash store(Nodes& nodes, const TriePart& part) {
  switch (part.kind) {
    case TriePart::Kind::stored: return part.hash;
    case TriePart::Kind::none: {
      TrieNode nothing;
      nothing.kind = NodeKind::trie_branch;
      return put(nodes, nothing);
    }
    case TriePart::Kind::leaf: {
      TrieNode leaf;
      leaf.path = part.path;
      leaf.value = part.value;
      return put(nodes, leaf);
    }
    case TriePart::Kind::branch: break;
  }
  if (part.path.empty()) return part.hash;
  TrieNode extension;
  extension.kind = NodeKind::trie_extension;
  extension.path = part.path;
  extension.children.emplace_back(0, part.hash);
  return put(nodes, extension);
}

size_t common_length(const Path& a, BytesView b) {
  const size_t length = std::min(a.size(), b.size());
  return static_cast<size_t>(std::mismatch(a.begin(), a.begin() + static_cast<ptrdiff_t>(length), b.begin()).first - a.begin());
}

}  // namespace versions::merkle
