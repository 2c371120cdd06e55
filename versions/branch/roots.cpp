#include "versions/branch/roots.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "storage/engine.h"

namespace versions {

namespace {

constexpr size_t documents_at_once = 1 << 18;  // of a new tree, in memory: some 25 MB

Hash hash_in(BytesView value) {
  auto hash = merkle::take_hash(value);
  if (!hash || !value.empty()) throw base::OperationError(base::ErrorCode::data_corruption_detected, "a leaf of a commit's tree has something else than hashes of documents");
  return *hash;
}

}  // namespace

Roots::Roots(storage::Engine& engine, uint32_t database, std::shared_ptr<merkle::NodeCache> cache)
    : table_(engine.open_table("versions-db" + std::to_string(database) + "-nodes", {})),
      cache_(std::move(cache)),
      index_(merkle::make_index({.structure = merkle::Structure::pos_tree})) {
  merkle::MemoryNodes nodes;
  empty_ = index_->empty(nodes);
}

// Written once, and never taken away: whoever wrote it again would conflict with others who do.
Hash Roots::empty(Transaction& transaction) const {
  if (!table_.get(transaction, view(empty_))) {
    merkle::TableNodes nodes(transaction, table_, *cache_);
    index_->empty(nodes);
  }
  return empty_;
}

Hash Roots::build(Transaction& transaction, Scan& documents) const {
  Hash root = empty(transaction);
  std::vector<DocumentHash> some;
  HashedDocuments hashed([&](Bytes key, const Hash& hash) { some.push_back({std::move(key), hash}); });
  while (documents.next()) {
    hashed.add(documents.content());
    if (some.size() < documents_at_once) continue;
    root = update(transaction, root, std::exchange(some, {}));
  }
  hashed.finish();
  return update(transaction, root, std::move(some));
}

Hash Roots::update(Transaction& transaction, const Hash& root, std::vector<DocumentHash> changes) const {
  std::sort(changes.begin(), changes.end(), [](const DocumentHash& a, const DocumentHash& b) {
    const int order = a.key.compare(b.key);
    return order != 0 ? order < 0 : a.hash.has_value() > b.hash.has_value();
  });
  std::vector<merkle::Change> all;
  all.reserve(changes.size());
  for (const DocumentHash& one : changes) {
    if (!all.empty() && all.back().key == one.key) continue;
    all.push_back({one.key, one.hash ? std::optional(view(*one.hash)) : std::nullopt});
  }
  merkle::TableNodes nodes(transaction, table_, *cache_);
  return index_->update(nodes, root, all);
}

std::optional<Hash> Roots::find(Transaction& transaction, const Hash& root, BytesView key) const {
  merkle::TableNodes nodes(transaction, table_, *cache_);
  const auto found = index_->find(nodes, root, key);
  return found ? std::optional(hash_in(found->value)) : std::nullopt;
}

void Roots::diff(Transaction& transaction, const Hash& a, const Hash& b, const Visit& visit) const {
  merkle::TableNodes nodes(transaction, table_, *cache_);
  index_->diff(nodes, a, b, [&](const merkle::Difference& difference) {
    visit(difference.key, difference.b ? std::optional(hash_in(*difference.b)) : std::nullopt);
    return true;
  });
}

namespace {

struct HashHash {
  size_t operator()(const Hash& hash) const { return base::load_le<size_t>(hash.data()); }
};

// The nodes of all these trees. Leaves are not read.
std::unordered_set<Hash, HashHash> nodes_of(merkle::Nodes& nodes, const std::vector<Hash>& roots, const std::function<void()>& interrupted) {
  std::unordered_set<Hash, HashHash> found;
  std::vector<Hash> waiting;
  for (const Hash& root : roots) {
    if (found.insert(root).second) waiting.push_back(root);
  }
  while (!waiting.empty()) {
    if (interrupted) interrupted();
    const merkle::NodePtr node = nodes.get(waiting.back());
    waiting.pop_back();
    for (const Hash& child : merkle::children_of(*node)) {
      if (found.insert(child).second && node->level() > 1) waiting.push_back(child);
    }
  }
  return found;
}

}  // namespace

uint64_t Roots::free(Transaction& transaction, const std::vector<Hash>& roots, size_t nodes_max, const std::function<void()>& interrupted) const {
  merkle::TableNodes nodes(transaction, table_, *cache_);
  auto kept = nodes_of(nodes, roots, interrupted);
  kept.insert(empty_);
  std::unordered_map<Hash, Hash, HashHash> leans;  // of all rows that do
  std::vector<Hash> rows;                          // of no tree
  TableCursor cursor = table_.cursor(transaction);
  while (cursor.next()) {
    const Hash hash = merkle::read_hash(cursor.key().data());
    if (const auto base = merkle::TableNodes::base_of(cursor.value())) leans.emplace(hash, *base);
    if (!kept.contains(hash)) rows.push_back(hash);
  }
  const std::vector<Hash> named(kept.begin(), kept.end());
  for (Hash at : named) {
    for (auto base = leans.find(at); base != leans.end() && kept.insert(base->second).second; base = leans.find(at)) at = base->second;
  }
  uint64_t count = 0;
  for (const Hash& hash : rows) {
    if (kept.contains(hash)) continue;
    if (count == nodes_max) break;
    table_.remove(transaction, view(hash));
    ++count;
  }
  return count;
}

Bytes Roots::prove(Transaction& transaction, const Hash& root, BytesView key) const {
  merkle::TableNodes nodes(transaction, table_, *cache_);
  return index_->prove(nodes, root, key);
}

std::unique_ptr<merkle::Nodes> Roots::nodes(Transaction& transaction, merkle::NodeCache& cache) const {
  return std::make_unique<merkle::TableNodes>(transaction, table_, cache);
}

}  // namespace versions
