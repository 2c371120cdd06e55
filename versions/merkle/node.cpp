#include "versions/merkle/node.h"

#include <algorithm>
#include <limits>
#include <memory>

#include "base/varint.h"

namespace versions::merkle {
namespace {

constexpr Hash unknown{};  // until it is computed
constexpr size_t node_bytes_max = std::numeric_limits<uint32_t>::max();

// The first 8 bytes, zeros behind a shorter key: where they differ, they sort as the keys do.
uint64_t prefix_of(BytesView key) {
  if (key.size() >= 8) return base::load_be64(key.data());
  char bytes[8] = {};
  std::copy(key.begin(), key.end(), bytes);
  return base::load_be64(bytes);
}

base::Failure damaged(const char* what) { return {base::ErrorCode::data_corruption_detected, std::string("A node of a hash tree is damaged: ") + what}; }

}  // namespace

std::shared_ptr<Node> Node::make(BytesView bytes, const std::vector<Entry>& entries, const std::vector<Section>& sections) {
  auto node = std::make_shared<Node>();
  const size_t prefixes_at = 0, entries_at = entries.size() * sizeof(uint64_t), sections_at = entries_at + entries.size() * sizeof(Entry);
  const size_t bytes_at = sections_at + sections.size() * sizeof(Section);
  node->memory_ = std::make_unique_for_overwrite<char[]>(bytes_at + bytes.size());
  char* memory = node->memory_.get();
  auto* prefixes = reinterpret_cast<uint64_t*>(memory + prefixes_at);
  for (size_t i = 0; i < entries.size(); ++i) prefixes[i] = prefix_of(bytes.substr(entries[i].key, entries[i].key_bytes));
  std::uninitialized_copy(entries.begin(), entries.end(), reinterpret_cast<Entry*>(memory + entries_at));
  std::uninitialized_copy(sections.begin(), sections.end(), reinterpret_cast<Section*>(memory + sections_at));
  std::memcpy(memory + bytes_at, bytes.data(), bytes.size());
  node->prefixes_ = prefixes;
  node->entries_ = reinterpret_cast<Entry*>(memory + entries_at);
  node->sections_ = reinterpret_cast<Section*>(memory + sections_at);
  node->bytes_ = memory + bytes_at;
  node->bytes_size_ = static_cast<uint32_t>(bytes.size());
  node->entries_size_ = static_cast<uint32_t>(entries.size());
  node->sections_size_ = static_cast<uint32_t>(sections.size());
  return node;
}

NodePtr Node::whole(BytesView bytes) {
  const auto node = make(bytes, {}, {});
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
  constexpr size_t allocations = 64;
  return sizeof(Node) + allocations + bytes_size_ + entries_size_ * (sizeof(uint64_t) + sizeof(Entry)) + sections_size_ * sizeof(Section);
}

size_t Node::lower_bound(BytesView key) const {
  const uint64_t prefix = prefix_of(key);
  size_t low = 0, high = size();
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (prefixes_[middle] < prefix || (prefixes_[middle] == prefix && this->key(middle) < key)) low = middle + 1;
    else high = middle;
  }
  return low;
}

size_t Node::section_of(size_t entry) const {
  size_t section = 0;
  while (section + 1 < sections_size_ && sections_[section].end <= entry) ++section;
  return section;
}

BytesView Node::section_bytes(size_t section) const {
  const uint32_t from = entries_[section_begin(section)].begin, to = end(section_end(section) - 1);
  return {bytes_ + from, to - from};
}

void Node::append_directory(Bytes& out) const {
  out.append(bytes_, NodeBuilder::header_bytes);
  for (size_t section = 0; section < sections_size_; ++section) {
    const BytesView last = key(section_end(section) - 1);
    base::append_varint(out, last.size());
    out.append(last).append(view(sections_[section].digest));
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
  base::check(bytes_.size() + entry_bytes(key, value) <= node_bytes_max, "a node is too large");
  Node::Entry entry{};
  entry.begin = static_cast<uint32_t>(bytes_.size());
  base::append_varint(bytes_, key.size());
  entry.key = static_cast<uint32_t>(bytes_.size());
  entry.key_bytes = static_cast<uint32_t>(key.size());
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
  base::check(bytes_.size() + whole.size() <= node_bytes_max, "a node is too large");
  const auto moved = static_cast<uint32_t>(bytes_.size()) - from.entries_[at].begin;  // maybe backwards: modulo 2^32
  if (bytes_.size() == section_begin_) {
    source_section_ = from.section_of(at);
    source_ = from.section_begin(source_section_) == at ? &from : nullptr;
  } else if (source_ != &from || source_entry_ != at) {
    source_ = nullptr;
  }
  source_entry_ = at + 1;
  const Node::Entry& old = from.entries_[at];
  entries_.push_back({old.begin + moved, old.key + moved, old.key_bytes, old.value + moved});
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

std::shared_ptr<Node> NodeBuilder::finish() {
  if (bytes_.size() > section_begin_) close_section();
  auto node = Node::make(bytes_, entries_, sections_);
  bytes_.resize(header_bytes);
  entries_.clear();
  sections_.clear();
  section_begin_ = header_bytes;
  return node;
}

NodePtr NodeBuilder::finish_sealed() {
  const std::shared_ptr<Node> node = finish();
  seal(std::span(&node, 1));
  return node;
}

void NodeBuilder::seal(std::span<const std::shared_ptr<Node>> nodes) {
  std::vector<Message> messages;
  for (const auto& node : nodes) {
    for (size_t section = 0; section < node->sections_size_; ++section) {
      if (node->sections_[section].digest == unknown) messages.push_back({node->section_bytes(section), &node->sections_[section].digest});
    }
  }
  sha256_many(messages);
  // Directories one behind the other; where they are is known once all are there.
  Bytes directories;
  std::vector<size_t> ends;
  for (const auto& node : nodes) {
    node->append_directory(directories);
    ends.push_back(directories.size());
  }
  messages.clear();
  for (size_t i = 0, begin = 0; i < nodes.size(); begin = ends[i++]) messages.push_back({BytesView(directories).substr(begin, ends[i] - begin), &nodes[i]->hash_});
  sha256_many(messages);
}

}  // namespace versions::merkle
