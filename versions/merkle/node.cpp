#include "versions/merkle/node.h"

#include <algorithm>
#include <new>

#include "base/varint.h"

namespace versions::merkle {
namespace {

constexpr Hash unknown{};  // it isn't computed yet

uint64_t load_be32(const char* from) {
  return __builtin_bswap32(base::load_le<uint32_t>(from));
}

// The first 8 bytes, with zeros behind a shorter key. If two prefixes differ, they sort as the keys do.
uint64_t prefix_of(BytesView key) {
  const size_t size = key.size();
  if (size >= 8) return base::load_be64(key.data());
  if (size >= 4) return load_be32(key.data()) << 32 | load_be32(key.data() + size - 4) << (64 - 8 * size);
  uint64_t prefix = 0;
  for (size_t i = 0; i < size; ++i) prefix |= uint64_t{static_cast<uint8_t>(key[i])} << (56 - 8 * i);
  return prefix;
}

base::Failure damaged(const char* what) {
  return {base::ErrorCode::data_corruption_detected, std::string("A node of a hash tree is damaged: ") + what};
}

}  // namespace

void check_node_bytes(uint64_t bytes) {
  if (bytes <= node_bytes_max) return;
  throw base::OperationError(base::ErrorCode::bad_value, "A node of a hash tree would have " + std::to_string(bytes) +
                                                             " bytes, of at most " + std::to_string(node_bytes_max));
}

Node::Node(NodeKind kind, unsigned level, const Sizes& sizes)
    : bytes_size_(static_cast<uint32_t>(sizes.bytes)),
      entries_size_(static_cast<uint32_t>(sizes.entries)),
      sections_size_(static_cast<uint32_t>(sizes.sections)),
      kind_(kind),
      level_(static_cast<uint8_t>(level)) {}

UnnamedNode Node::make(NodeKind kind, unsigned level, const Sizes& sizes) {
  static_assert(sizeof(Node) % alignof(uint64_t) == 0 && sizeof(Link) == sizeof(uint64_t));
  check_node_bytes(sizes.bytes);
  const size_t tail = Node(kind, level, sizes).tail_bytes();
  Node* const node = new (::operator new(sizeof(Node) + tail)) Node(kind, level, sizes);
  for (size_t i = 0; i < node->links_size(); ++i) new (node->links() + i) Link(nullptr);
  return UnnamedNode(node);
}

// The recursion is as deep as the tree: a node keeps alive those that it is linked to.
void Node::destroy() const {
  for (size_t i = 0; i < links_size(); ++i) {
    if (const Node* const child = linked(i)) child->release();
  }
  this->~Node();
  ::operator delete(const_cast<Node*>(this));
}

void Node::copy_tail(const Node& from) {
  std::memcpy(tail(), from.tail(), links_at());
  std::memcpy(tail() + entries_at(), from.tail() + entries_at(), tail_bytes() - entries_at());
}

NodePtr Node::copy(const Node& node) {
  const UnnamedNode copy = make(node.kind_, node.level_, {node.bytes_size_, node.entries_size_, node.sections_size_});
  copy->copy_tail(node);
  copy->hash_ = node.hash_;
  return copy;
}

void Node::link(size_t entry, const Node& child) const {
  child.share();
  const Node* none = nullptr;
  if (!links()[entry].compare_exchange_strong(none, &child, std::memory_order_acq_rel)) child.release();
}

bool Node::settle(uint64_t store) const {
  uint64_t none = 0;
  return store_.compare_exchange_strong(none, store, std::memory_order_relaxed) || none == store;
}

NodePtr Node::whole(BytesView bytes) {
  const UnnamedNode node = make(static_cast<NodeKind>(bytes[0]), 0, {bytes.size(), 0, 0});
  std::memcpy(node->tail(), bytes.data(), bytes.size());
  node->hash_ = sha256(bytes);
  return node;
}

base::Result<NodePtr> Node::decode(BytesView bytes) {
  if (bytes.empty() || bytes.size() > node_bytes_max) return damaged("its length");
  const auto kind = static_cast<NodeKind>(bytes[0]);
  if (kind < NodeKind::search || kind > NodeKind::trie_branch) return damaged("its kind");
  if (kind != NodeKind::search) return whole(bytes);
  if (bytes.size() < NodeBuilder::header_bytes) return damaged("its length");
  const auto level = static_cast<uint8_t>(bytes[1]);
  NodeBuilder builder(level);
  for (BytesView rest = bytes.substr(NodeBuilder::header_bytes); !rest.empty();) {
    const size_t before = rest.size();
    const auto key_bytes = base::take_varint(rest);
    if (!key_bytes || *key_bytes > rest.size()) return damaged("a key's length");
    const BytesView key = rest.substr(0, *key_bytes);
    rest.remove_prefix(*key_bytes);
    const auto value_bytes = base::take_varint(rest);
    if (!value_bytes || *value_bytes > rest.size()) return damaged("a value's length");
    if (level != 0 && *value_bytes != sizeof(Hash)) return damaged("a child's hash");
    const BytesView value = rest.substr(0, *value_bytes);
    rest.remove_prefix(*value_bytes);
    if (before - rest.size() != entry_bytes(key, value)) return damaged("a length is not in its shortest form");
    builder.add(key, value);
  }
  if (level != 0 && builder.empty()) return damaged("it has no children");
  return builder.finish_sealed();
}

size_t Node::memory_bytes() const {
  constexpr size_t allocation = 16;
  return sizeof(Node) + allocation + tail_bytes();
}

BytesView Node::long_key(size_t entry) const {
  BytesView rest = this->entry(entry);
  const auto length = base::take_varint(rest);
  return rest.substr(0, *length);
}

size_t Node::lower_bound(BytesView key) const {
  const uint64_t prefix = prefix_of(key);
  const uint64_t* const all = prefixes();
  const uint64_t* first = all;
  // The loop has no branches: the processor would mispredict half of them.
  for (size_t left = size(); left > 0;) {
    const size_t half = (left + 1) / 2;
    first = first[half - 1] < prefix ? first + half : first;
    left -= half;
  }
  size_t low = static_cast<size_t>(first - all), high = low;
  while (high < size() && all[high] == prefix) ++high;
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (this->key(middle) < key)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

size_t Node::section_of(size_t entry) const {
  size_t section = 0;
  while (section + 1 < sections_size_ && section_end(section) <= entry) ++section;
  return section;
}

BytesView Node::section_bytes(size_t section) const {
  const uint32_t from = entries()[section_begin(section)].begin, to = end(section_end(section) - 1);
  return {content() + from, to - from};
}

void Node::append_directory(Bytes& out) const {
  out.append(content(), NodeBuilder::header_bytes);
  for (size_t section = 0; section < sections_size_; ++section) {
    const BytesView last = key(section_end(section) - 1);
    base::append_varint(out, last.size());
    out.append(last).append(view(digest(section)));
  }
}

size_t entry_bytes(BytesView key, BytesView value) {
  return base::varint_bytes(key.size()) + key.size() + base::varint_bytes(value.size()) + value.size();
}

NodeBuilder::NodeBuilder(unsigned level) {
  bytes_.reserve(2048);
  entries_.reserve(32);
  sections_.reserve(8);
  bytes_.push_back(static_cast<char>(NodeKind::search));
  bytes_.push_back(static_cast<char>(level));
}

void NodeBuilder::add(BytesView key, BytesView value) {
  check_node_bytes(bytes_.size() + entry_bytes(key, value));
  Node::Entry entry{};
  entry.begin = static_cast<uint32_t>(bytes_.size());
  base::append_varint(bytes_, key.size());
  bytes_.append(key);
  base::append_varint(bytes_, value.size());
  entry.value = static_cast<uint32_t>(bytes_.size());
  bytes_.append(value);
  entries_.push_back(entry);
  source_ = nullptr;
  end_entry();
}

void NodeBuilder::add(const Node& from, size_t at) {
  const BytesView whole = from.entry(at);
  check_node_bytes(bytes_.size() + whole.size());
  const auto moved = static_cast<uint32_t>(bytes_.size()) - from.entries()[at].begin;  // perhaps backwards: modulo 2^32
  if (bytes_.size() == section_begin_) {
    source_section_ = from.section_of(at);
    source_ = from.section_begin(source_section_) == at ? &from : nullptr;
  } else if (source_ != &from || source_entry_ != at) {
    source_ = nullptr;
  }
  source_entry_ = at + 1;
  const Node::Entry& old = from.entries()[at];
  entries_.push_back({old.begin + moved, old.value + moved});
  bytes_.append(whole);
  end_entry();
}

void NodeBuilder::end_entry() {
  if (section_full()) close_section();
}

void NodeBuilder::close_section() {
  const bool known = source_ != nullptr && source_->section_end(source_section_) == source_entry_;
  sections_.push_back({static_cast<uint32_t>(entries_.size()), known ? source_->digest(source_section_) : unknown});
  section_begin_ = bytes_.size();
  source_ = nullptr;
}

UnnamedNode NodeBuilder::finish() {
  if (bytes_.size() > section_begin_) close_section();
  UnnamedNode node =
      Node::make(NodeKind::search, static_cast<uint8_t>(bytes_[1]), {bytes_.size(), entries_.size(), sections_.size()});
  if (!entries_.empty()) std::memcpy(node->tail() + node->entries_at(), entries_.data(), entries_.size() * sizeof(Node::Entry));
  if (!sections_.empty())
    std::memcpy(node->tail() + node->sections_at(), sections_.data(), sections_.size() * sizeof(Node::Section));
  std::memcpy(node->tail() + node->content_at(), bytes_.data(), bytes_.size());
  for (size_t i = 0; i < entries_.size(); ++i) base::store_le(node->tail() + i * sizeof(uint64_t), prefix_of(node->key(i)));
  bytes_.resize(header_bytes);
  entries_.clear();
  sections_.clear();
  section_begin_ = header_bytes;
  return node;
}

NodePtr NodeBuilder::finish_sealed() {
  const UnnamedNode node = finish();
  seal(std::span(&node, 1));
  return node;
}

UnnamedNode NodeBuilder::with_values(const Node& node, std::span<const Replacement> values) {
  UnnamedNode copy = Node::make(node.kind_, node.level_, {node.bytes_size_, node.entries_size_, node.sections_size_});
  copy->copy_tail(node);
  for (const Replacement& one : values) {
    if (node.value(one.entry) == one.value) continue;
    std::memcpy(copy->tail() + node.content_at() + node.entries()[one.entry].value, one.value.data(), one.value.size());
    copy->section_list()[node.section_of(one.entry)].digest = unknown;
  }
  return copy;
}

void NodeBuilder::seal(std::span<const UnnamedNode> nodes) {
  std::vector<Message> messages;
  for (const auto& node : nodes) {
    for (size_t section = 0; section < node->sections_size_; ++section) {
      Hash& digest = node->section_list()[section].digest;
      if (digest == unknown) messages.push_back({node->section_bytes(section), &digest});
    }
  }
  sha256_many(messages);
  // The directories stand one behind the other; their addresses are known once all are there.
  Bytes directories;
  std::vector<size_t> ends;
  for (const auto& node : nodes) {
    node->append_directory(directories);
    ends.push_back(directories.size());
  }
  messages.clear();
  for (size_t i = 0, begin = 0; i < nodes.size(); begin = ends[i++])
    messages.push_back({BytesView(directories).substr(begin, ends[i] - begin), &nodes[i]->hash_});
  sha256_many(messages);
}

}  // namespace versions::merkle
