#include "versions/merkle/bucket_tree.h"

#include <algorithm>
#include <map>

#include "base/varint.h"
#include "versions/merkle/proof.h"

namespace versions::merkle {
namespace {

[[noreturn]] void damaged(const Node& node) {
  throw base::OperationError(base::ErrorCode::data_corruption_detected,
                             "Node " + base::to_hex(view(node.hash())) + " of a bucket tree is damaged");
}

// Returns how many buckets are below each child of the top; 0: the top is a bucket.
uint64_t top_span(uint64_t buckets, uint64_t fan_out) {
  if (buckets == 1) return 0;
  uint64_t span = 1;
  while (span < (buckets + fan_out - 1) / fan_out) span *= fan_out;
  return span;
}

uint64_t bucket_of_hash(const Hash& hash, uint64_t buckets) {
  return base::load_be64(hash.data()) % buckets;
}

NodePtr bucket_at(Nodes& nodes, const Hash& hash) {
  NodePtr node = nodes.get(hash);
  if (node->kind() != NodeKind::search || node->level() != 0) damaged(*node);
  return node;
}

Hash put_inner(Nodes& nodes, std::span<const Hash> children, const NodePtr& like = nullptr) {
  Bytes bytes(1, static_cast<char>(NodeKind::bucket_inner));
  for (const Hash& child : children) bytes.append(view(child));
  return nodes.put(Node::whole(bytes), like);
}

Hash put_root(Nodes& nodes, const BucketRoot& root) {
  Bytes bytes(1, static_cast<char>(NodeKind::bucket_root));
  base::append_varint(bytes, root.buckets);
  base::append_varint(bytes, root.fan_out);
  bytes.append(view(root.top));
  return nodes.put(Node::whole(bytes));
}

Hash child_at(const Node& inner, uint64_t place) {
  if (inner.kind() != NodeKind::bucket_inner || inner.bytes().size() < 1 + (place + 1) * sizeof(Hash)) damaged(inner);
  return read_hash(inner.bytes().data() + 1 + place * sizeof(Hash));
}

// Finds the bucket's hash on the way down.
Hash bucket_hash(Nodes& nodes, const BucketRoot& root, uint64_t bucket, ProofWriter* proof = nullptr) {
  BucketPath path(root, bucket);
  Hash hash = root.top;
  while (const auto place = path.place()) {
    const NodePtr inner = nodes.get(hash);
    if (proof != nullptr) proof->add(*inner);
    hash = child_at(*inner, *place);
    path.down();
  }
  return hash;
}

// Makes the subtree that begins with a bucket anew, with the buckets from `changed` that are in it. `span`: how many buckets are
// below each child.
using Changed = std::map<uint64_t, Hash>;
Hash with_buckets(Nodes& nodes, const Hash& hash, uint64_t first, uint64_t span, uint64_t fan_out, Changed::const_iterator from,
                  Changed::const_iterator to) {
  if (span == 0) return from->second;
  const NodePtr inner = nodes.get(hash);
  std::vector<Hash> children = bucket_children_of(*inner);
  while (from != to) {
    const uint64_t place = (from->first - first) / span;
    if (place >= children.size()) damaged(*inner);
    auto end = from;
    while (end != to && (end->first - first) / span == place) ++end;
    children[place] = with_buckets(nodes, children[place], first + place * span, span / fan_out, fan_out, from, end);
    from = end;
  }
  return put_inner(nodes, children, inner);
}

// Compares the entries of two buckets, side by side.
bool diff_buckets(const Node& a, const Node& b, const VisitDifference& visit) {
  for (size_t i = 0, j = 0; i < a.size() || j < b.size();) {
    const int order = i == a.size() ? 1 : j == b.size() ? -1 : a.key(i).compare(b.key(j));
    Difference difference{order <= 0 ? a.key(i) : b.key(j), {}, {}};
    if (order <= 0) difference.a = a.value(i++);
    if (order >= 0) difference.b = b.value(j++);
    if (difference.a != difference.b && !visit(difference)) return false;
  }
  return true;
}

// `span`: how many buckets are below each child.
bool diff_below(Nodes& nodes, const Hash& a, const Hash& b, uint64_t span, uint64_t fan_out, const VisitDifference& visit) {
  if (a == b) return true;
  if (span == 0) return diff_buckets(*bucket_at(nodes, a), *bucket_at(nodes, b), visit);
  const NodePtr left = nodes.get(a), right = nodes.get(b);
  const std::vector<Hash> from = bucket_children_of(*left), to = bucket_children_of(*right);
  if (from.size() != to.size()) damaged(*right);
  for (size_t i = 0; i < from.size(); ++i) {
    if (!diff_below(nodes, from[i], to[i], span / fan_out, fan_out, visit)) return false;
  }
  return true;
}

}  // namespace

uint64_t bucket_of(BytesView key, uint64_t buckets) {
  return bucket_of_hash(sha256(key), buckets);
}

std::optional<BucketRoot> read_bucket_root(BytesView bytes) {
  if (bytes.empty() || bytes[0] != static_cast<char>(NodeKind::bucket_root)) return std::nullopt;
  bytes.remove_prefix(1);
  const auto buckets = base::take_varint(bytes);
  if (!buckets || *buckets == 0 || *buckets > UINT32_MAX) return std::nullopt;
  const auto fan_out = base::take_varint(bytes);
  if (!fan_out || *fan_out < 2 || *fan_out > UINT32_MAX || bytes.size() != sizeof(Hash)) return std::nullopt;
  return BucketRoot{*buckets, *fan_out, read_hash(bytes.data())};
}

BucketRoot bucket_root_of(const Node& node) {
  const auto root = read_bucket_root(node.bytes());
  if (!root) damaged(node);
  return *root;
}

std::vector<Hash> bucket_children_of(const Node& node) {
  const BytesView bytes = node.bytes();
  const bool whole = bytes.size() > 1 && (bytes.size() - 1) % sizeof(Hash) == 0;
  if (bytes[0] != static_cast<char>(NodeKind::bucket_inner) || !whole) damaged(node);
  std::vector<Hash> children((bytes.size() - 1) / sizeof(Hash));
  std::memcpy(children.data(), bytes.data() + 1, bytes.size() - 1);
  return children;
}

BucketPath::BucketPath(const BucketRoot& root, uint64_t bucket)
    : bucket_(bucket), fan_out_(root.fan_out), below_(top_span(root.buckets, root.fan_out)) {}

std::optional<uint64_t> BucketPath::place() const {
  if (below_ == 0) return std::nullopt;
  return bucket_ / below_ % fan_out_;
}

Hash BucketTree::empty(Nodes& nodes) const {
  std::vector<Hash> level(buckets_, nodes.put(NodeBuilder(0).finish_sealed()));
  while (level.size() > 1) {
    std::vector<Hash> above;
    for (size_t i = 0; i < level.size(); i += fan_out_)
      above.push_back(put_inner(nodes, std::span(level).subspan(i, std::min<size_t>(fan_out_, level.size() - i))));
    level = std::move(above);
  }
  return put_root(nodes, {buckets_, fan_out_, level[0]});
}

Hash BucketTree::update(Nodes& nodes, const Hash& root_hash, std::span<const Change> changes) const {
  if (changes.empty()) return root_hash;
  BucketRoot root = bucket_root_of(*nodes.get(root_hash));
  std::vector<Hash> hashes(changes.size());
  std::vector<Message> messages;
  for (size_t i = 0; i < changes.size(); ++i) messages.push_back({changes[i].key, &hashes[i]});
  sha256_many(messages);
  std::vector<std::pair<uint64_t, size_t>> order;  // bucket, place in `changes`: by key within a bucket
  for (size_t i = 0; i < changes.size(); ++i) order.emplace_back(bucket_of_hash(hashes[i], root.buckets), i);
  std::sort(order.begin(), order.end());

  std::vector<NodePtr> old;  // they must live until the new ones are sealed
  std::vector<UnnamedNode> made;
  std::vector<uint64_t> numbers;
  for (size_t next = 0; next < order.size();) {
    const uint64_t bucket = order[next].first;
    const NodePtr node = bucket_at(nodes, bucket_hash(nodes, root, bucket));
    old.push_back(node);
    NodeBuilder builder(0);
    size_t entry = 0;
    for (; next < order.size() && order[next].first == bucket; ++next) {
      const Change& change = changes[order[next].second];
      while (entry < node->size() && node->key(entry) < change.key) builder.add(*node, entry++);
      if (entry < node->size() && node->key(entry) == change.key) ++entry;
      if (change.value) builder.add(change.key, *change.value);
    }
    while (entry < node->size()) builder.add(*node, entry++);
    made.push_back(builder.finish());
    numbers.push_back(bucket);
  }
  NodeBuilder::seal(made);
  Changed changed;
  for (size_t i = 0; i < made.size(); ++i) {
    if (made[i]->hash() == old[i]->hash()) continue;
    nodes.put(made[i], old[i]);
    changed.emplace_hint(changed.end(), numbers[i], made[i]->hash());
  }
  if (changed.empty()) return root_hash;
  root.top = with_buckets(nodes, root.top, 0, top_span(root.buckets, root.fan_out), root.fan_out, changed.begin(), changed.end());
  return put_root(nodes, root);
}

std::optional<Found> BucketTree::find(Nodes& nodes, const Hash& root_hash, BytesView key) const {
  const BucketRoot root = bucket_root_of(*nodes.get(root_hash));
  NodePtr bucket = bucket_at(nodes, bucket_hash(nodes, root, bucket_of(key, root.buckets)));
  const size_t at = bucket->lower_bound(key);
  if (at == bucket->size() || bucket->key(at) != key) return std::nullopt;
  const BytesView value = bucket->value(at);
  return Found{std::move(bucket), value};
}

void BucketTree::scan(Nodes& nodes, const Hash& root_hash, std::optional<BytesView> from, const VisitEntry& visit) const {
  const BucketRoot root = bucket_root_of(*nodes.get(root_hash));
  for (uint64_t number = from ? bucket_of(*from, root.buckets) : 0; number < root.buckets; ++number) {
    const NodePtr bucket = bucket_at(nodes, bucket_hash(nodes, root, number));
    for (size_t entry = from ? bucket->lower_bound(*from) : 0; entry < bucket->size(); ++entry) {
      if (!visit(bucket->key(entry), bucket->value(entry))) return;
    }
    from.reset();
  }
}

void BucketTree::diff(Nodes& nodes, const Hash& a, const Hash& b, const VisitDifference& visit) const {
  if (a == b) return;
  const BucketRoot left = bucket_root_of(*nodes.get(a)), right = bucket_root_of(*nodes.get(b));
  if (left.buckets != right.buckets || left.fan_out != right.fan_out) {
    throw base::OperationError(base::ErrorCode::bad_value, "bucket trees of different numbers of buckets have nothing in common");
  }
  diff_below(nodes, left.top, right.top, top_span(left.buckets, left.fan_out), left.fan_out, visit);
}

Bytes BucketTree::prove(Nodes& nodes, const Hash& root_hash, BytesView key) const {
  ProofWriter proof;
  const NodePtr node = nodes.get(root_hash);
  const BucketRoot root = bucket_root_of(*node);
  proof.add(*node);
  const NodePtr bucket = bucket_at(nodes, bucket_hash(nodes, root, bucket_of(key, root.buckets), &proof));
  proof.add(*bucket, bucket->lower_bound(key));
  return proof.done();
}

}  // namespace versions::merkle
