#include "versions/merkle/node.h"

#include <algorithm>
#include <limits>

#include "base/varint.h"

namespace versions::merkle {
namespace {

// A section is full once it has so many bytes: one that is larger hashes more again after a change, and makes proofs longer; with
// smaller ones the directory does.
constexpr size_t section_bytes_target = 192;
constexpr size_t header_bytes = 2;
constexpr char section_tag = 0;  // sections are hashed with it in front: no section is a directory

constexpr Hash unknown{};  // until it is computed

Bytes tagged(BytesView section) {
  Bytes bytes(1, section_tag);
  bytes.append(section);
  return bytes;
}

base::Failure damaged(const char* what) { return {base::ErrorCode::data_corruption_detected, std::string("A node of a hash tree is damaged: ") + what}; }

}  // namespace

NodePtr Node::whole(Bytes bytes) {
  auto node = std::make_shared<Node>();
  node->hash_ = sha256(bytes);
  node->bytes_ = std::move(bytes);
  return node;
}

base::Result<NodePtr> Node::decode(Bytes bytes) {
  if (bytes.empty()) return damaged("no bytes");
  if (bytes[0] != static_cast<char>(NodeKind::search)) return whole(std::move(bytes));
  if (bytes.size() < header_bytes || bytes.size() > std::numeric_limits<uint32_t>::max()) return damaged("its length");
  auto node = std::make_shared<Node>();
  BytesView rest(bytes);
  rest.remove_prefix(header_bytes);
  const auto position = [&] { return static_cast<uint32_t>(bytes.size() - rest.size()); };
  uint32_t section_begin = header_bytes;
  while (!rest.empty()) {
    Entry entry{};
    entry.begin = position();
    const auto key_bytes = base::take_varint(rest);
    if (!key_bytes || *key_bytes > rest.size()) return damaged("a key's length");
    entry.key = position();
    entry.key_bytes = static_cast<uint32_t>(*key_bytes);
    rest.remove_prefix(*key_bytes);
    const auto value_bytes = base::take_varint(rest);
    if (!value_bytes || *value_bytes > rest.size()) return damaged("a value's length");
    if (bytes[1] != 0 && *value_bytes != sizeof(Hash)) return damaged("a child's hash");
    entry.value = position();
    rest.remove_prefix(*value_bytes);
    node->entries_.push_back(entry);
    if (position() - section_begin >= section_bytes_target || rest.empty()) {
      node->sections_.push_back({static_cast<uint32_t>(node->entries_.size()), unknown});
      section_begin = position();
    }
  }
  if (bytes[1] != 0 && node->entries_.empty()) return damaged("it has no children");
  node->bytes_ = std::move(bytes);
  NodeBuilder::seal(std::span(&node, 1));
  return NodePtr(std::move(node));
}

size_t Node::memory_bytes() const {
  return sizeof(Node) + 64 + bytes_.capacity() + entries_.capacity() * sizeof(Entry) + sections_.capacity() * sizeof(Section);
}

Hash Node::child(size_t entry) const {
  Hash hash;
  std::memcpy(hash.data(), bytes_.data() + entries_[entry].value, hash.size());
  return hash;
}

size_t Node::lower_bound(BytesView key) const {
  size_t low = 0, high = size();
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (this->key(middle) < key) low = middle + 1;
    else high = middle;
  }
  return low;
}

size_t Node::section_of(size_t entry) const {
  size_t section = 0;
  while (section + 1 < sections_.size() && sections_[section].end <= entry) ++section;
  return section;
}

BytesView Node::section_bytes(size_t section) const {
  const uint32_t from = entries_[section_begin(section)].begin, to = end(section_end(section) - 1);
  return {bytes_.data() + from, to - from};
}

Bytes Node::directory() const {
  Bytes out(bytes_, 0, header_bytes);
  for (size_t section = 0; section < sections_.size(); ++section) {
    const BytesView last = key(section_end(section) - 1);
    base::append_varint(out, last.size());
    out.append(last).append(view(sections_[section].digest));
  }
  return out;
}

size_t entry_bytes(BytesView key, BytesView value) {
  return base::varint_bytes(key.size()) + key.size() + base::varint_bytes(value.size()) + value.size();
}

void NodeBuilder::begin() {
  if (!node_) {
    node_ = std::make_shared<Node>();
    node_->bytes_.reserve(1400);
    node_->bytes_.push_back(static_cast<char>(NodeKind::search));
    node_->bytes_.push_back(static_cast<char>(level_));
    section_begin_ = header_bytes;
  }
}

void NodeBuilder::add(BytesView key, BytesView value) {
  begin();
  Bytes& bytes = node_->bytes_;
  base::check(bytes.size() + key.size() + value.size() + 32 < std::numeric_limits<uint32_t>::max(), "a node is too large");
  Node::Entry entry{};
  entry.begin = static_cast<uint32_t>(bytes.size());
  base::append_varint(bytes, key.size());
  entry.key = static_cast<uint32_t>(bytes.size());
  entry.key_bytes = static_cast<uint32_t>(key.size());
  bytes.append(key);
  base::append_varint(bytes, value.size());
  entry.value = static_cast<uint32_t>(bytes.size());
  bytes.append(value);
  node_->entries_.push_back(entry);
  source_ = nullptr;
  end_entry();
}

void NodeBuilder::add(const Node& from, size_t at) {
  begin();
  Bytes& bytes = node_->bytes_;
  const BytesView whole = from.entry(at);
  base::check(bytes.size() + whole.size() < std::numeric_limits<uint32_t>::max(), "a node is too large");
  const auto begins = static_cast<uint32_t>(bytes.size());
  const uint32_t old = from.entries_[at].begin;
  if (begins == section_begin_) {
    source_section_ = from.section_of(at);
    source_ = from.section_begin(source_section_) == at ? &from : nullptr;
  } else if (source_ != &from || source_entry_ != at) {
    source_ = nullptr;
  }
  source_entry_ = at + 1;
  node_->entries_.push_back({begins, from.entries_[at].key - old + begins, from.entries_[at].key_bytes, from.entries_[at].value - old + begins});
  bytes.append(whole);
  end_entry();
}

void NodeBuilder::end_entry() {
  if (node_->bytes_.size() - section_begin_ >= section_bytes_target) close_section();
}

void NodeBuilder::close_section() {
  const bool known = source_ != nullptr && source_->section_end(source_section_) == source_entry_;
  node_->sections_.push_back({static_cast<uint32_t>(node_->entries_.size()), known ? source_->digest(source_section_) : unknown});
  section_begin_ = static_cast<uint32_t>(node_->bytes_.size());
  source_ = nullptr;
}

std::shared_ptr<Node> NodeBuilder::finish() {
  begin();
  if (node_->bytes_.size() > section_begin_) close_section();
  return std::exchange(node_, nullptr);
}

void NodeBuilder::seal(std::span<const std::shared_ptr<Node>> nodes) {
  std::vector<Bytes> texts;
  std::vector<Hash*> targets;
  for (const auto& node : nodes) {
    for (size_t section = 0; section < node->sections_.size(); ++section) {
      if (node->sections_[section].digest != unknown) continue;
      texts.push_back(tagged(node->section_bytes(section)));
      targets.push_back(&node->sections_[section].digest);
    }
  }
  const auto hash_all = [&] {
    std::vector<Message> messages;
    messages.reserve(texts.size());
    for (size_t i = 0; i < texts.size(); ++i) messages.push_back({texts[i], targets[i]});
    sha256_many(messages);
  };
  hash_all();
  texts.clear();
  targets.clear();
  for (const auto& node : nodes) {
    texts.push_back(node->directory());
    targets.push_back(&node->hash_);
  }
  hash_all();
}

}  // namespace versions::merkle
