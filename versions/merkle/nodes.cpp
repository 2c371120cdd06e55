#include "versions/merkle/nodes.h"

#include "base/hash.h"
#include "dedup/delta.h"

namespace versions::merkle {
namespace {

constexpr size_t no_place = ~size_t{0};
constexpr size_t node_bytes_max = 64 << 20;

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
    if (slot.prefix != prefix) continue;
    slot.node->prefetch();
    if (slot.node->hash() == hash) return place;
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

void MemoryNodes::write(NodePtr node, const NodePtr&) {
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

//   | 07 | hops 1 | checksum 4 | hash of the base 32 | delta |       beside nodes, whose first byte is their kind
namespace {

constexpr char delta_row = 7;
constexpr size_t base_at = 6;
constexpr size_t delta_header_bytes = base_at + sizeof(Hash);

// Of all but itself: what a node is called by says nothing of how its row is written.
uint32_t checksum_of(BytesView row) { return base::checksum32(row.substr(base_at)) + static_cast<uint8_t>(row[1]) * 0x9e3779b1u; }

bool is_delta(BytesView row) { return row.size() > delta_header_bytes && row[0] == delta_row; }
unsigned hops_of(BytesView row) { return is_delta(row) ? static_cast<uint8_t>(row[1]) : 0; }

}  // namespace

std::optional<Hash> TableNodes::base_of(BytesView row) { return is_delta(row) ? std::optional(read_hash(row.data() + base_at)) : std::nullopt; }

NodePtr TableNodes::read(const Hash& hash) { return read(hash, hops_max); }

NodePtr TableNodes::read(const Hash& hash, unsigned hops_max) {
  if (NodePtr node = cache_.get(hash)) return node;
  ++read_from_table_;
  const auto row = table_.get(transaction_, view(hash));
  if (!row) not_there(hash, "is missing");
  base::Result<NodePtr> node = base::Failure{base::ErrorCode::data_corruption_detected, {}};
  if (const auto base = base_of(*row)) {
    const unsigned hops = hops_of(*row);
    if (hops == 0 || hops > hops_max || base::load_le<uint32_t>(row->data() + 2) != checksum_of(*row)) not_there(hash, "is damaged");
    const Bytes delta(row->substr(delta_header_bytes));
    const auto bytes = dedup::apply(read(*base, hops - 1)->bytes(), delta, {.output_bytes_max = node_bytes_max});
    if (bytes.ok()) node = Node::decode(bytes.value());
  } else {
    node = Node::decode(*row);
  }
  if (!node.ok() || (*node)->hash() != hash) not_there(hash, "is damaged");
  cache_.put(*node);
  return std::move(*node);
}

// nullopt: it is to be kept whole.
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
  // Not asked of the cache: what another transaction wrote may have been rolled back.
  const auto delta = like ? against(*node, *like) : std::nullopt;
  const BytesView key = view(node->hash());
  if (!table_.insert(transaction_, key, delta ? BytesView(*delta) : node->bytes())) {
    // Whoever takes it away at the same time, as nobody's, conflicts. As it is: others may lean on it.
    const Bytes row(table_.get(transaction_, key).value());
    table_.put(transaction_, key, row);
  }
  cache_.put(node);
}

}  // namespace versions::merkle
