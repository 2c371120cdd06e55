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

class alignas(uint64_t) Node {
 public:
  // Bytes that don't have to be a node, and what they are called by.
  static base::Result<NodePtr> decode(BytesView bytes);
  // One that is called by the hash of its bytes, which are well-formed.
  static NodePtr whole(BytesView bytes);

  const Hash& hash() const { return hash_; }
  BytesView bytes() const { return {content(), bytes_size_}; }
  NodeKind kind() const { return static_cast<NodeKind>(content()[0]); }
  size_t memory_bytes() const;

  // Of search nodes alone. A leaf's entries are keys and values; an inner node's are the last key below a child, and its hash.
  unsigned level() const { return static_cast<uint8_t>(content()[1]); }
  size_t size() const { return entries_size_; }
  BytesView key(size_t entry) const {
    const char* const at = content() + entries()[entry].begin;
    const auto length = static_cast<uint8_t>(*at);
    return length < 0x80 ? BytesView(at + 1, length) : long_key(entry);
  }
  BytesView value(size_t entry) const { return {content() + entries()[entry].value, end(entry) - entries()[entry].value}; }
  BytesView entry(size_t entry) const { return {content() + entries()[entry].begin, end(entry) - entries()[entry].begin}; }
  BytesView last_key() const { return key(size() - 1); }
  Hash child(size_t entry) const { return read_hash(content() + entries()[entry].value); }
  size_t lower_bound(BytesView key) const;  // the first entry that isn't below `key`

  size_t sections() const { return sections_size_; }
  size_t section_begin(size_t section) const { return section == 0 ? 0 : section_list()[section - 1].end; }
  size_t section_end(size_t section) const { return section_list()[section].end; }  // an entry
  const Hash& digest(size_t section) const { return section_list()[section].digest; }
  size_t section_of(size_t entry) const;
  BytesView section_bytes(size_t section) const;
  void append_directory(Bytes& out) const;

  // Asks for what a look-up reads first, all at once.
  void prefetch() const {
    for (size_t line = 0; line < 6; ++line) __builtin_prefetch(reinterpret_cast<const char*>(this) + 64 * line);
  }

 private:
  friend class NodeBuilder;
  struct Entry {
    uint32_t begin, value;  // where they are in the bytes
  };
  struct Section {
    uint32_t end;
    Hash digest;
  };
  static std::shared_ptr<Node> make(BytesView bytes, const std::vector<Entry>& entries, const std::vector<Section>& sections);
  static std::shared_ptr<Node> make(size_t bytes, size_t entries, size_t sections);
  uint32_t end(size_t entry) const { return entry + 1 < entries_size_ ? entries()[entry + 1].begin : bytes_size_; }
  BytesView long_key(size_t entry) const;

  // Behind the node, in one piece of memory with it: the keys' first 8 bytes, as numbers that sort as they do, for these are what
  // a look-up asks first; entries; sections; bytes.
  const char* tail() const { return reinterpret_cast<const char*>(this + 1); }
  char* tail() { return reinterpret_cast<char*>(this + 1); }
  size_t tail_bytes() const { return entries_size_ * (sizeof(uint64_t) + sizeof(Entry)) + sections_size_ * sizeof(Section) + bytes_size_; }
  const uint64_t* prefixes() const { return reinterpret_cast<const uint64_t*>(tail()); }
  const Entry* entries() const { return reinterpret_cast<const Entry*>(tail() + entries_size_ * sizeof(uint64_t)); }
  size_t sections_at() const { return entries_size_ * (sizeof(uint64_t) + sizeof(Entry)); }
  const Section* section_list() const { return reinterpret_cast<const Section*>(tail() + sections_at()); }
  Section* section_list() { return reinterpret_cast<Section*>(tail() + sections_at()); }
  size_t content_at() const { return sections_at() + sections_size_ * sizeof(Section); }
  const char* content() const { return tail() + content_at(); }

  Hash hash_{};
  uint32_t bytes_size_ = 0, entries_size_ = 0, sections_size_ = 0;
};

// Search nodes, entry by entry in the order of their keys. Sections that stand in the new node as they stood in an old one
// are not hashed again.
class NodeBuilder {
 public:
  explicit NodeBuilder(unsigned level);

  void add(BytesView key, BytesView value);
  void add(const Node& from, size_t entry);  // `from` stays until `finish`
  bool empty() const { return entries_.empty(); }
  size_t bytes() const { return bytes_.size() - header_bytes; }  // of its entries

  // The node so far, which gets its name from `seal`; the next entry begins another.
  std::shared_ptr<Node> finish();
  // Hashes what is new in all of them, side by side.
  static void seal(std::span<const std::shared_ptr<Node>> nodes);
  NodePtr finish_sealed();  // one alone

  // A node with other values for some entries, of the same lengths. It gets its name from `seal` too.
  struct Replacement {
    size_t entry;
    BytesView value;
  };
  static std::shared_ptr<Node> with_values(const Node& node, std::span<const Replacement> values);

 private:
  friend class Node;
  static constexpr size_t header_bytes = 2;
  void end_entry();
  void close_section();
  bool section_full() const { return bytes_.size() - section_begin_ >= section_bytes_target; }

  // A section is full once it has so many bytes: one that is larger hashes more again after a change, and makes proofs longer;
  // with smaller ones the directory does.
  static constexpr size_t section_bytes_target = 192;

  Bytes bytes_;  // of the node so far
  std::vector<Node::Entry> entries_;
  std::vector<Node::Section> sections_;
  size_t section_begin_ = header_bytes;
  // The section so far is the beginning of a section of this node, up to an entry.
  const Node* source_ = nullptr;
  size_t source_section_ = 0, source_entry_ = 0;
};

// Bytes of an entry as it stands in a node.
size_t entry_bytes(BytesView key, BytesView value);

}  // namespace versions::merkle
