#include "versions/merkle/nodes.h"

#include "base/hash.h"
#include "dedup/delta.h"

namespace versions::merkle {
namespace {

constexpr size_t row_bytes_max = 64 << 20;  // of a node that is the result of a delta

[[noreturn]] void not_there(const Hash& hash, const char* what) {
  throw base::OperationError(base::ErrorCode::data_corruption_detected,
                             "Node " + base::to_hex(view(hash)) + " of a hash tree " + what);
}

}  // namespace

NodeTable::NodeTable() : slots_(64) {
  static std::atomic<uint64_t> tables{0};
  number_ = ++tables;
}

const NodePtr* NodeTable::find(const Hash& hash) const {
  const uint64_t prefix = prefix_of(hash);
  for (size_t place = home(prefix);; place = (place + 1) & (slots_.size() - 1)) {
    const Slot& slot = slots_[place];
    if (!slot.node) return nullptr;
    if (slot.prefix != prefix) continue;
    slot.node->prefetch();
    if (slot.node->hash() == hash) return &slot.node;
  }
}

const NodePtr* NodeTable::find_child(const Node& parent, size_t entry) const {
  const NodePtr* const child = find(parent.child(entry));
  if (child != nullptr && parent.is_settled_in(number_)) parent.link(entry, **child);
  return child;
}

std::pair<NodePtr, bool> NodeTable::insert(NodePtr node) {
  if (const NodePtr* const there = find(node->hash())) return {*there, false};
  if (node->level() > 0 && !node->settle(number_)) {
    node = Node::copy(*node);
    node->settle(number_);
  }
  if (size_ * 2 >= slots_.size()) {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (Slot& slot : old) {
      if (slot.node) put(slot.prefix, std::move(slot.node));
    }
  }
  put(prefix_of(node->hash()), node);
  ++size_;
  return {std::move(node), true};
}

void NodeTable::put(uint64_t prefix, NodePtr node) {
  size_t place = home(prefix);
  while (slots_[place].node) place = (place + 1) & (slots_.size() - 1);
  slots_[place] = {prefix, std::move(node)};
}

NodePtr MemoryNodes::read(const Hash& hash) {
  const NodePtr* node = nodes_.find(hash);
  if (node == nullptr) not_there(hash, "is missing");
  return *node;
}

NodePtr MemoryNodes::read_child(const Node& parent, size_t entry) {
  const NodePtr* node = nodes_.find_child(parent, entry);
  if (node == nullptr) not_there(parent.child(entry), "is missing");
  return *node;
}

void MemoryNodes::expect(const Node& parent, std::span<const size_t> entries) {
  for (const size_t entry : entries) {
    if (parent.linked(entry) == nullptr) nodes_.expect(parent.child(entry));
  }
  for (const size_t entry : entries) {
    if (parent.linked(entry) == nullptr) nodes_.find_child(parent, entry);
  }
}

void MemoryNodes::expect(std::span<const UnnamedNode> sealed) {
  for (const UnnamedNode& node : sealed) nodes_.expect(node->hash());
}

void MemoryNodes::write(NodePtr node, const NodePtr&) {
  const size_t bytes = node->bytes().size();
  if (nodes_.insert(std::move(node)).second) bytes_ += bytes;
}

// Nodes that nobody asked for move to `gone`, and are destroyed when nobody waits for that.
void NodeCache::add(const NodePtr& node, Gone& gone) {
  const size_t bytes = node->memory_bytes();
  if (bytes > bytes_max_ / 4) return;
  if (young_.bytes + bytes > bytes_max_ / 4 * 3 || young_.bytes + old_.bytes + bytes > bytes_max_)
    gone = std::exchange(old_, std::exchange(young_, {}));
  if (young_.nodes.insert(node).second) young_.bytes += bytes;
}

NodePtr NodeCache::find(const Hash& hash, Gone& gone) {
  if (const NodePtr* const node = young_.nodes.find(hash)) return *node;
  const NodePtr* const node = old_.nodes.find(hash);
  if (node == nullptr) return nullptr;
  const NodePtr again = *node;
  if (again->level() == 0) old_.bytes -= again->memory_bytes();  // this one becomes young; others are copied
  add(again, gone);
  return *young_.nodes.find(hash);
}

NodePtr NodeCache::get(const Hash& hash) {
  Gone gone;
  const base::MutexLock lock(mutex_);
  return find(hash, gone);
}

NodePtr NodeCache::get_child(const Node& parent, size_t entry) {
  Gone gone;
  const base::MutexLock lock(mutex_);
  if (!find(parent.child(entry), gone)) return nullptr;
  return *young_.nodes.find_child(parent, entry);
}

void NodeCache::put(const NodePtr& node) {
  Gone gone;
  const base::MutexLock lock(mutex_);
  add(node, gone);
}

size_t NodeCache::bytes() const {
  const base::MutexLock lock(mutex_);
  return young_.bytes + old_.bytes;
}

//   | 07 | hops 1 | checksum 4 | hash of the base 32 | delta |       beside nodes, whose first byte is their kind
namespace {

constexpr char delta_row = 7;
constexpr size_t base_at = 6;
constexpr size_t delta_header_bytes = base_at + sizeof(Hash);

// The checksum covers everything but itself: a node's name says nothing of how its row is written.
uint32_t checksum_of(BytesView row) {
  return base::checksum32(row.substr(base_at)) + static_cast<uint8_t>(row[1]) * 0x9e3779b1u;
}

bool is_delta(BytesView row) {
  return row.size() > delta_header_bytes && row[0] == delta_row;
}
unsigned hops_of(BytesView row) {
  return is_delta(row) ? static_cast<uint8_t>(row[1]) : 0;
}

}  // namespace

std::optional<Hash> TableNodes::base_of(BytesView row) {
  return is_delta(row) ? std::optional(read_hash(row.data() + base_at)) : std::nullopt;
}

NodePtr TableNodes::read_child(const Node& parent, size_t entry) {
  if (NodePtr child = cache_.get_child(parent, entry)) return child;
  NodePtr child = read(parent.child(entry));
  cache_.get_child(parent, entry);
  return child;
}

NodePtr TableNodes::read(const Hash& hash) {
  if (NodePtr node = cache_.get(hash)) return node;
  base::Result<NodePtr> node = Node::decode(read_bytes(hash));
  if (!node.ok() || (*node)->hash() != hash) not_there(hash, "is damaged");
  cache_.put(*node);
  return std::move(*node);
}

// The base isn't made a node: the hash of the result shows whether it is right, and old nodes would push others out of the cache.
Bytes TableNodes::read_bytes(const Hash& hash) {
  std::vector<Bytes> deltas;  // from the last one to the first
  Bytes bytes;
  Hash at = hash;
  for (unsigned hops_left = hops_max;;) {
    if (const NodePtr base = deltas.empty() ? nullptr : cache_.get(at)) {
      bytes = base->bytes();
      break;
    }
    ++read_from_table_;
    const auto row = table_.get(transaction_, view(at));
    if (!row) not_there(at, "is missing");
    const auto base = base_of(*row);
    if (!base) {
      bytes = *row;
      break;
    }
    const unsigned hops = hops_of(*row);
    if (hops == 0 || hops > hops_left || base::load_le<uint32_t>(row->data() + 2) != checksum_of(*row))
      not_there(at, "is damaged");
    hops_left = hops - 1;
    deltas.emplace_back(row->substr(delta_header_bytes));
    at = *base;
  }
  for (; !deltas.empty(); deltas.pop_back()) {
    auto made = dedup::apply(bytes, deltas.back(), {.output_bytes_max = row_bytes_max});
    if (!made.ok()) not_there(hash, "is damaged");
    bytes = std::move(made.value());
  }
  return bytes;
}

// nullopt: the node must be stored whole.
std::optional<Bytes> TableNodes::against(const Node& node, const Node& like) const {
  const auto base = table_.get(transaction_, view(like.hash()));
  const unsigned hops = base ? hops_of(*base) + 1 : hops_max + 1;
  if (hops > hops_max || like.hash() == node.hash()) return std::nullopt;
  const size_t worth = node.bytes().size() / 4 * 3;
  const auto delta = dedup::encode(like.bytes(), node.bytes(), {.literal_bytes_max = worth});
  if (!delta || delta->size() + delta_header_bytes > worth) return std::nullopt;
  Bytes row{delta_row, static_cast<char>(hops), 0, 0, 0, 0};
  row.append(view(like.hash())).append(*delta);
  base::store_le(row.data() + 2, checksum_of(row));
  return row;
}

void TableNodes::write(NodePtr node, const NodePtr& like) {
  // The cache isn't asked: it may have a node whose transaction was rolled back.
  const auto delta = like ? against(*node, *like) : std::nullopt;
  const BytesView key = view(node->hash());
  if (!table_.insert(transaction_, key, delta ? BytesView(*delta) : node->bytes())) {
    // Another transaction that removes the node at the same time, because no tree has it, conflicts. The row is written as it is:
    // others may be based on it.
    const Bytes row(table_.get(transaction_, key).value());
    table_.put(transaction_, key, row);
  }
  cache_.put(node);
}

}  // namespace versions::merkle
