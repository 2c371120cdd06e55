#include "versions/merkle/trie_node.h"

#include "base/varint.h"

namespace versions::merkle {
namespace {

void append_path(Bytes& out, const Path& path) {
  base::append_varint(out, path.size());
  for (size_t i = 0; i < path.size(); i += 2)
    out.push_back(static_cast<char>(path[i] << 4 | (i + 1 < path.size() ? path[i + 1] : 0)));
}

std::optional<Path> take_path(BytesView& rest) {
  const auto nibbles = base::take_varint(rest);
  if (!nibbles || *nibbles > 2 * rest.size()) return std::nullopt;
  Path path = path_of(rest.substr(0, (*nibbles + 1) / 2));
  rest.remove_prefix((*nibbles + 1) / 2);
  if (path.size() > *nibbles) {
    if (path.back() != 0) return std::nullopt;
    path.pop_back();
  }
  return path;
}

}  // namespace

Path path_of(BytesView key) {
  Path path;
  path.reserve(key.size() * 2);
  for (const char c : key) {
    path.push_back(static_cast<char>(static_cast<uint8_t>(c) >> 4));
    path.push_back(static_cast<char>(c & 15));
  }
  return path;
}

Bytes key_of_path(const Path& path) {
  Bytes key;
  for (size_t i = 0; i + 1 < path.size(); i += 2) key.push_back(static_cast<char>(path[i] << 4 | path[i + 1]));
  return key;
}

std::optional<TrieNode> read_trie_node(BytesView bytes) {
  if (bytes.empty()) return std::nullopt;
  TrieNode node;
  node.kind = static_cast<NodeKind>(bytes[0]);
  bytes.remove_prefix(1);
  if (node.kind == NodeKind::trie_leaf || node.kind == NodeKind::trie_extension) {
    auto path = take_path(bytes);
    if (!path) return std::nullopt;
    node.path = std::move(*path);
    if (node.kind == NodeKind::trie_leaf) {
      node.value = bytes;
      return node;
    }
    const auto child = take_hash(bytes);
    if (!child || !bytes.empty() || node.path.empty()) return std::nullopt;
    node.children.emplace_back(0, *child);
    return node;
  }
  if (node.kind != NodeKind::trie_branch || bytes.size() < 3 || (bytes[2] & ~1) != 0) return std::nullopt;
  const auto present = base::load_le<uint16_t>(bytes.data());
  const bool has_value = bytes[2] != 0;
  bytes.remove_prefix(3);
  for (char nibble = 0; nibble < 16; ++nibble) {
    if ((present >> nibble & 1) == 0) continue;
    const auto child = take_hash(bytes);
    if (!child) return std::nullopt;
    node.children.emplace_back(nibble, *child);
  }
  if (has_value)
    node.value = bytes;
  else if (!bytes.empty())
    return std::nullopt;
  return node;
}

Bytes write_trie_node(const TrieNode& node) {
  Bytes out(1, static_cast<char>(node.kind));
  if (node.kind == NodeKind::trie_branch) {
    uint16_t present = 0;
    for (const auto& child : node.children) present = static_cast<uint16_t>(present | 1u << child.first);
    base::append_le(out, present);
    out.push_back(node.value ? 1 : 0);
  } else {
    append_path(out, node.path);
  }
  for (const auto& child : node.children) out.append(view(child.second));
  if (node.value) out.append(*node.value);
  return out;
}

TrieNode trie_node_of(const Node& node) {
  auto read = read_trie_node(node.bytes());
  if (!read)
    throw base::OperationError(base::ErrorCode::data_corruption_detected,
                               "Node " + base::to_hex(view(node.hash())) + " is not of a trie, or damaged");
  return std::move(*read);
}

}  // namespace versions::merkle
