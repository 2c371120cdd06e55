#include "versions/merkle/index.h"

#include "versions/merkle/bucket_tree.h"
#include "versions/merkle/patricia_trie.h"
#include "versions/merkle/search_tree.h"
#include "versions/merkle/trie_node.h"

namespace versions::merkle {

Hash Index::put(Nodes& nodes, const Hash& root, BytesView key, BytesView value) const {
  const Change change{key, value};
  return update(nodes, root, std::span(&change, 1));
}

Hash Index::remove(Nodes& nodes, const Hash& root, BytesView key) const {
  const Change change{key, std::nullopt};
  return update(nodes, root, std::span(&change, 1));
}

std::unique_ptr<Index> make_index(const IndexOptions& options) {
  const auto refuse = [](const char* what) { throw base::OperationError(base::ErrorCode::bad_value, what); };
  switch (options.structure) {
    case Structure::pos_tree:
    case Structure::mvmb_tree: {
      if (options.node_bytes < 64 || options.node_bytes > 65'536) refuse("nodes of a hash tree have 64 to 65536 bytes");
      if (options.structure == Structure::mvmb_tree) return std::make_unique<SearchTree>(Cut::overflow, options.node_bytes);
      return std::make_unique<SearchTree>(options.boundary == Boundary::key_hash ? Cut::key_hash : Cut::byte_window,
                                          options.node_bytes);
    }
    case Structure::bucket_tree:
      if (options.buckets == 0) refuse("a bucket tree has a bucket at least");
      if (options.fan_out < 2 || options.fan_out > 65'536) refuse("a bucket tree's inner nodes have 2 to 65536 children");
      return std::make_unique<BucketTree>(options.buckets, options.fan_out);
    case Structure::patricia_trie: return std::make_unique<PatriciaTrie>();
  }
  base::check(false, "a structure");
  return nullptr;
}

Structure structure_of(const Node& root) {
  switch (root.kind()) {
    case NodeKind::search: return Structure::pos_tree;
    case NodeKind::bucket_root:
    case NodeKind::bucket_inner: return Structure::bucket_tree;
    case NodeKind::trie_leaf:
    case NodeKind::trie_extension:
    case NodeKind::trie_branch: break;
  }
  return Structure::patricia_trie;
}

bool names_leaves(const Node& node) {
  return node.kind() == NodeKind::search && node.level() == 1;
}

Content content_of(const Node& node, const Bytes& place) {
  Content content;
  if (node.kind() == NodeKind::search && node.level() == 0) {
    for (size_t i = 0; i < node.size(); ++i) content.entries.emplace_back(node.key(i), node.value(i));
  } else if (structure_of(node) != Structure::patricia_trie) {
    for (const Hash& child : children_of(node)) content.children.push_back({child});
  } else {
    const TrieNode parsed = trie_node_of(node);
    const Path here = place + parsed.path;
    if (parsed.value) content.entries.emplace_back(key_of_path(here), *parsed.value);
    for (const auto& [nibble, hash] : parsed.children)
      content.children.push_back({hash, parsed.kind == NodeKind::trie_branch ? here + nibble : here});
  }
  return content;
}

std::vector<Hash> children_of(const Node& node) {
  std::vector<Hash> children;
  switch (node.kind()) {
    case NodeKind::search:
      if (node.level() > 0) {
        for (size_t i = 0; i < node.size(); ++i) children.push_back(node.child(i));
      }
      break;
    case NodeKind::bucket_root: children.push_back(bucket_root_of(node).top); break;
    case NodeKind::bucket_inner: return bucket_children_of(node);
    case NodeKind::trie_leaf: break;
    case NodeKind::trie_extension:
    case NodeKind::trie_branch:
      for (const auto& child : trie_node_of(node).children) children.push_back(child.second);
      break;
  }
  return children;
}

void for_each_node(Nodes& nodes, const Hash& root, const std::function<bool(const Node&)>& visit) {
  std::vector<Hash> to_do{root};
  while (!to_do.empty()) {
    const NodePtr node = nodes.get(to_do.back());
    to_do.pop_back();
    if (!visit(*node)) continue;
    const std::vector<Hash> children = children_of(*node);
    to_do.insert(to_do.end(), children.rbegin(), children.rend());
  }
}

}  // namespace versions::merkle
