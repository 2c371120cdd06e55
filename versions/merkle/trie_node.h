// These are nodes of a Merkle Patricia Trie, and keys as half bytes.
//
//   leaf       | kind 4 | path | value |
//   extension  | kind 5 | path | child 32 |
//   branch     | kind 6 | children, a bit each, 2 | 00, or 01: has a value | child 32 … | value |
//   path       | half bytes, varint | two a byte, high first, zero at the end |
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "versions/merkle/node.h"

namespace versions::merkle {

// Each character is a half byte, 0 to 15.
using Path = std::string;
Path path_of(BytesView key);
Bytes key_of_path(const Path& path);  // for a path of an even number of half bytes

constexpr size_t trie_key_bytes_max = 1024;  // a trie is as deep as its keys are long

// Nibbles are the half bytes of a key.
class Nibbles {
 public:
  explicit Nibbles(BytesView key) : path_(path_of(key)) {}
  size_t left() const { return path_.size() - at_; }
  Path take(size_t count) { return path_.substr(std::exchange(at_, at_ + count), count); }

 private:
  Path path_;
  size_t at_ = 0;
};

struct TrieNode {
  NodeKind kind = NodeKind::trie_leaf;
  Path path;                                    // for a leaf or an extension
  std::vector<std::pair<char, Hash>> children;  // in ascending order; an extension's child has no half byte
  std::optional<BytesView> value;               // in the bytes that the node was read from
};

std::optional<TrieNode> read_trie_node(BytesView bytes);  // nullopt: the bytes are no such node
Bytes write_trie_node(const TrieNode& node);
TrieNode trie_node_of(const Node& node);  // throws DataCorruptionDetected

}  // namespace versions::merkle
