// A node: bytes that are called by their hash, and never change.
//
// Nodes that hold entries in the order of their keys (`search`) are hashed in two steps, so that
// a proof needs a part of each and a change hashes a part of it again:
//
//   node       | kind 1 | level 1 | entry | entry | entry | entry | entry | …
//   sections                      |------------------|----------------|       some 200 bytes each
//   directory  | kind 1 | level 1 | last key, SHA-256 of the section | … |
//   name       SHA-256 of the directory
//
// All others are called by the hash of their bytes. Format: docs/formats/merkle.md.
#pragma once

#include <memory>
#include <vector>

#include "base/result.h"
#include "versions/merkle/hash.h"

namespace versions::merkle {

enum class NodeKind : uint8_t {
  search = 1,          // leaves (level 0) and inner nodes of ordered trees, and buckets
  bucket_root = 2,
  bucket_inner = 3,
  trie_leaf = 4,
  trie_extension = 5,
  trie_branch = 6,
};

class Node;
using NodePtr = std::shared_ptr<const Node>;

class Node {
 public:
  // Bytes that don't have to be a node, and what they are called by.
  static base::Result<NodePtr> decode(Bytes bytes);
  // One that is called by the hash of its bytes, which are well-formed.
  static NodePtr whole(Bytes bytes);

  const Hash& hash() const { return hash_; }
  BytesView bytes() const { return bytes_; }
  NodeKind kind() const { return static_cast<NodeKind>(bytes_[0]); }
  size_t memory_bytes() const;

  // Of search nodes alone. A leaf's entries are keys and values; an inner node's are the last key below a child, and its hash.
  unsigned level() const { return static_cast<uint8_t>(bytes_[1]); }
  size_t size() const { return entries_.size(); }
  BytesView key(size_t entry) const { return {bytes_.data() + entries_[entry].key, entries_[entry].key_bytes}; }
  BytesView value(size_t entry) const { return {bytes_.data() + entries_[entry].value, end(entry) - entries_[entry].value}; }
  BytesView entry(size_t entry) const { return {bytes_.data() + entries_[entry].begin, end(entry) - entries_[entry].begin}; }
  BytesView last_key() const { return key(size() - 1); }
  Hash child(size_t entry) const;
  size_t lower_bound(BytesView key) const;  // the first entry that isn't below `key`

  size_t sections() const { return sections_.size(); }
  size_t section_begin(size_t section) const { return section == 0 ? 0 : sections_[section - 1].end; }
  size_t section_end(size_t section) const { return sections_[section].end; }  // an entry
  const Hash& digest(size_t section) const { return sections_[section].digest; }
  size_t section_of(size_t entry) const;
  BytesView section_bytes(size_t section) const;
  Bytes directory() const;

 private:
  friend class NodeBuilder;
  struct Entry {
    uint32_t begin, key, key_bytes, value;
  };
  struct Section {
    uint32_t end;
    Hash digest;
  };
  uint32_t end(size_t entry) const { return entry + 1 < entries_.size() ? entries_[entry + 1].begin : static_cast<uint32_t>(bytes_.size()); }

  Bytes bytes_;
  std::vector<Entry> entries_;
  std::vector<Section> sections_;
  Hash hash_{};
};

// Search nodes, entry by entry in the order of their keys. Sections that stand in the new node as they stood in an old one
// are not hashed again.
class NodeBuilder {
 public:
  explicit NodeBuilder(unsigned level) : level_(level) {}

  void add(BytesView key, BytesView value);
  void add(const Node& from, size_t entry);  // `from` stays until `seal`
  bool empty() const { return !node_ || node_->entries_.empty(); }
  size_t bytes() const { return node_ ? node_->bytes_.size() - 2 : 0; }  // of its entries

  // The node so far, which gets its name from `seal`; the next entry begins another.
  std::shared_ptr<Node> finish();
  // Hashes what is new in all of them, side by side.
  static void seal(std::span<const std::shared_ptr<Node>> nodes);

 private:
  void begin();
  void end_entry();
  void close_section();

  unsigned level_;
  std::shared_ptr<Node> node_;
  uint32_t section_begin_ = 0;         // a byte of the node
  // The section so far is the beginning of a section of this node, up to an entry.
  const Node* source_ = nullptr;
  size_t source_section_ = 0, source_entry_ = 0;
};

// Bytes of an entry as it stands in a node.
size_t entry_bytes(BytesView key, BytesView value);

}  // namespace versions::merkle
