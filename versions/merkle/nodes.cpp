#include "versions/merkle/nodes.h"

namespace versions::merkle {
namespace {

constexpr size_t no_place = ~size_t{0};

[[noreturn]] void not_there(const Hash& hash, const char* what) {
  throw base::OperationError(base::ErrorCode::data_corruption_detected, "Node " + base::to_hex(view(hash)) + " of a hash tree " + what);
}

}  // namespace

NodeTable::NodeTable() : slots_(64) {}

size_t NodeTable::place_of(const Hash& hash) const {
  const uint64_t prefix = prefix_of(hash);
  for (size_t place = home(prefix);; place = (place + 1) & (slots_.size() - 1)) {
    const Slot& slot = slots_[place];
    if (!slot.node) return no_place;
    if (slot.prefix == prefix && slot.node->hash() == hash) return place;
  }
}

const NodePtr* NodeTable::find(const Hash& hash) const {
  const size_t place = place_of(hash);
  if (place == no_place) return nullptr;
  slots_[place].used = true;
  return &slots_[place].node;
}

bool NodeTable::insert(NodePtr node) {
  if (place_of(node->hash()) != no_place) return false;
  if (size_ * 2 >= slots_.size()) grow();
  const uint64_t prefix = prefix_of(node->hash());
  size_t place = home(prefix);
  while (slots_[place].node) place = (place + 1) & (slots_.size() - 1);
  slots_[place] = {prefix, std::move(node), true};
  ++size_;
  return true;
}

void NodeTable::grow() {
  std::vector<Slot> old(slots_.size() * 2);
  old.swap(slots_);
  for (Slot& slot : old) {
    if (!slot.node) continue;
    size_t place = home(slot.prefix);
    while (slots_[place].node) place = (place + 1) & (slots_.size() - 1);
    slots_[place] = std::move(slot);
  }
}

void NodeTable::erase(size_t place) {
  // Whoever had to stand further on because of this one moves up.
  const size_t mask = slots_.size() - 1;
  slots_[place] = {};
  --size_;
  for (size_t next = (place + 1) & mask; slots_[next].node; next = (next + 1) & mask) {
    const size_t wanted = home(slots_[next].prefix);
    if (((next - wanted) & mask) < ((next - place) & mask)) continue;
    slots_[place] = std::exchange(slots_[next], {});
    place = next;
  }
}

NodePtr MemoryNodes::read(const Hash& hash) {
  const NodePtr* node = nodes_.find(hash);
  if (node == nullptr) not_there(hash, "is missing");
  return *node;
}

void MemoryNodes::write(NodePtr node) {
  const size_t bytes = node->bytes().size();
  if (nodes_.insert(std::move(node))) bytes_ += bytes;
}

NodePtr NodeCache::get(const Hash& hash) {
  const std::lock_guard lock(mutex_);
  const NodePtr* node = nodes_.find(hash);
  return node != nullptr ? *node : nullptr;
}

void NodeCache::put(const NodePtr& node) {
  if (node->memory_bytes() > bytes_max_) return;
  const std::lock_guard lock(mutex_);
  if (!nodes_.insert(node)) return;
  bytes_ += node->memory_bytes();
  // A hand goes around: whoever was asked for since it came by last stays.
  while (bytes_ > bytes_max_) {
    hand_ = (hand_ + 1) % nodes_.places();
    const NodePtr& there = nodes_.at(hand_);
    if (!there || nodes_.take_mark(hand_)) continue;
    bytes_ -= there->memory_bytes();
    nodes_.erase(hand_);
  }
}

size_t NodeCache::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

NodePtr TableNodes::read(const Hash& hash) {
  if (NodePtr node = cache_.get(hash)) return node;
  ++read_from_table_;
  const auto row = table_.get(transaction_, view(hash));
  if (!row) not_there(hash, "is missing");
  auto node = Node::decode(*row);
  if (!node.ok() || (*node)->hash() != hash) not_there(hash, "is damaged");
  cache_.put(*node);
  return std::move(*node);
}

void TableNodes::write(NodePtr node) {
  // Not asked of the cache: what another transaction wrote may have been rolled back.
  table_.insert(transaction_, view(node->hash()), node->bytes());
  cache_.put(node);
}

}  // namespace versions::merkle
