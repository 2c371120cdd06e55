// A node is bytes that are named by their hash, and never change.
//
// Nodes that hold entries in the order of their keys (`search`) are hashed in two steps, so that a proof contains only a part of
// each, and a change hashes only a part of it again:
//
//   node       | kind 1 | level 1 | entry | entry | entry | entry | entry | …
//   sections                      |------------------|----------------|       some 200 bytes each
//   directory  | kind 1 | level 1 | last key, SHA-256 of the section | … |
//   name       SHA-256 of the directory
//
// The hash of their bytes names all other nodes. Format: docs/formats/merkle.md.
#pragma once

#include <atomic>
#include <vector>

#include "base/result.h"
#include "versions/merkle/counted.h"
#include "versions/merkle/hash.h"

namespace versions::merkle {

enum class NodeKind : uint8_t {
  search = 1,  // leaves (level 0) and inner nodes of ordered trees, and buckets
  bucket_root = 2,
  bucket_inner = 3,
  trie_leaf = 4,
  trie_extension = 5,
  trie_branch = 6,
};

class Node;
using NodePtr = Counted<const Node>;
using UnnamedNode = Counted<Node>;  // until NodeBuilder::seal

// Thread-safe: nothing of a node changes but its links.
class Node {
 public:
  // Reads bytes that may be no node, and computes their name.
  static base::Result<NodePtr> decode(BytesView bytes);
  // Makes a node that is named by the hash of its bytes, which must be well-formed.
  static NodePtr whole(BytesView bytes);

  const Hash& hash() const { return hash_; }
  BytesView bytes() const { return {content(), bytes_size_}; }
  NodeKind kind() const { return kind_; }
  size_t memory_bytes() const;
  static NodePtr copy(const Node& node);  // without its links

  // Only search nodes have the following. A leaf's entries are keys and values; an inner node's are the last key below a child,
  // and the child's hash.
  unsigned level() const { return level_; }
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
  size_t lower_bound(BytesView key) const;  // the place of the first entry that isn't below `key`

  size_t sections() const { return sections_size_; }
  size_t section_begin(size_t section) const { return section == 0 ? 0 : section_list()[section - 1].end; }
  size_t section_end(size_t section) const { return section_list()[section].end; }  // the place of an entry
  const Hash& digest(size_t section) const { return section_list()[section].digest; }
  size_t section_of(size_t entry) const;
  BytesView section_bytes(size_t section) const;
  void append_directory(Bytes& out) const;

  // Fetches into the processor's cache what a look-up reads first.
  void prefetch() const {
    for (size_t line = 0; line < 6; ++line) __builtin_prefetch(reinterpret_cast<const char*>(this) + 64 * line);
  }

  // A child that is in memory, so that a look-up needs no table; nullptr: it isn't known. It lives as long as this node.
  const Node* linked(size_t entry) const { return links()[entry].load(std::memory_order_acquire); }
  // Links a child for good. Only stores may do it: a node keeps alive all nodes that it is linked to.
  void link(size_t entry, const Node& child) const;
  // Settles by number which store may link this node: the first one that asks.
  bool settle(uint64_t store) const;
  bool is_settled_in(uint64_t store) const { return store_.load(std::memory_order_relaxed) == store; }

  void share() const { shares_.fetch_add(1, std::memory_order_relaxed); }
  void release() const {
    if (shares_.fetch_sub(1, std::memory_order_acq_rel) == 1) destroy();
  }

 private:
  friend class NodeBuilder;
  struct Entry {
    uint32_t begin, value;  // their places in the bytes
  };
  struct Section {
    uint32_t end;
    Hash digest;
  };
  struct Sizes {
    size_t bytes, entries, sections;
  };
  using Link = std::atomic<const Node*>;

  Node(NodeKind kind, unsigned level, const Sizes& sizes);
  ~Node() = default;
  static UnnamedNode make(NodeKind kind, unsigned level, const Sizes& sizes);
  void destroy() const;
  uint32_t end(size_t entry) const { return entry + 1 < entries_size_ ? entries()[entry + 1].begin : bytes_size_; }
  BytesView long_key(size_t entry) const;

  // The tail stands behind the node in one piece of memory: the keys' first 8 bytes, as numbers that sort as the keys do, because
  // look-ups compare these first; links to children; entries; sections; bytes.
  const char* tail() const { return reinterpret_cast<const char*>(this + 1); }
  char* tail() { return reinterpret_cast<char*>(this + 1); }
  size_t links_size() const { return level_ > 0 ? entries_size_ : 0; }
  size_t links_at() const { return entries_size_ * sizeof(uint64_t); }
  size_t entries_at() const { return links_at() + links_size() * sizeof(Link); }
  size_t sections_at() const { return entries_at() + entries_size_ * sizeof(Entry); }
  size_t content_at() const { return sections_at() + sections_size_ * sizeof(Section); }
  size_t tail_bytes() const { return content_at() + bytes_size_; }
  const uint64_t* prefixes() const { return reinterpret_cast<const uint64_t*>(tail()); }
  Link* links() const { return const_cast<Link*>(reinterpret_cast<const Link*>(tail() + links_at())); }
  const Entry* entries() const { return reinterpret_cast<const Entry*>(tail() + entries_at()); }
  const Section* section_list() const { return reinterpret_cast<const Section*>(tail() + sections_at()); }
  Section* section_list() { return reinterpret_cast<Section*>(tail() + sections_at()); }
  const char* content() const { return tail() + content_at(); }
  // Copies all of the tail except the links.
  void copy_tail(const Node& from);

  Hash hash_{};
  uint32_t bytes_size_, entries_size_, sections_size_;
  NodeKind kind_;
  uint8_t level_;  // 0 for other nodes
  mutable std::atomic<uint32_t> shares_{0};
  mutable std::atomic<uint64_t> store_{0};  // 0: no store yet
};

// Builds search nodes, entry by entry in the order of their keys. It doesn't hash sections again that stand in the new node as
// they stood in an old one.
class NodeBuilder {
 public:
  explicit NodeBuilder(unsigned level);

  // Both throw BadValue if the node becomes larger than `node_bytes_max`.
  void add(BytesView key, BytesView value);
  void add(const Node& from, size_t entry);  // `from` must live until `finish`
  bool empty() const { return entries_.empty(); }
  size_t bytes() const { return bytes_.size() - header_bytes; }  // of the entries so far

  // The node so far, which `seal` gives its name; the next entry begins another node.
  UnnamedNode finish();
  // Hashes what is new in all of them, side by side.
  static void seal(std::span<const UnnamedNode> nodes);
  NodePtr finish_sealed();  // the same for one node

  // A copy of a node with other values of the same lengths for some entries. `seal` gives it its name, too.
  struct Replacement {
    size_t entry;
    BytesView value;
  };
  static UnnamedNode with_values(const Node& node, std::span<const Replacement> values);

 private:
  friend class Node;
  static constexpr size_t header_bytes = 2;
  void end_entry();
  void close_section();
  bool section_full() const { return bytes_.size() - section_begin_ >= section_bytes_target; }

  // A section is full once it has so many bytes. With larger sections a change hashes more again, and proofs are longer; with
  // smaller ones the directory is.
  static constexpr size_t section_bytes_target = 192;

  Bytes bytes_;  // of the node so far
  std::vector<Node::Entry> entries_;
  std::vector<Node::Section> sections_;
  size_t section_begin_ = header_bytes;
  // The section so far is the beginning of a section of this node, up to an entry.
  const Node* source_ = nullptr;
  size_t source_section_ = 0, source_entry_ = 0;
};

// Returns how many bytes an entry takes in a node.
size_t entry_bytes(BytesView key, BytesView value);

// Places in a node are numbers of 32 bits. A larger node is refused with BadValue.
constexpr uint64_t node_bytes_max = UINT32_MAX;
void check_node_bytes(uint64_t bytes);

}  // namespace versions::merkle
