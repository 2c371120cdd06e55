#include "versions/branch/roots.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "storage/engine/engine.h"
#include "versions/merkle/bucket_tree.h"
#include "versions/merkle/trie_node.h"

namespace versions {

using merkle::Structure;

namespace {

Hash hash_in(BytesView value) {
  auto hash = merkle::take_hash(value);
  if (!hash || !value.empty())
    throw base::OperationError(base::ErrorCode::data_corruption_detected,
                               "a leaf of a commit's tree has something else than hashes of documents");
  return *hash;
}

}  // namespace

Roots::Roots(storage::Engine& engine, uint32_t database, std::shared_ptr<merkle::NodeCache> cache)
    : table_(engine.open_table("versions-db" + std::to_string(database) + "-nodes", {})), cache_(std::move(cache)) {
  for (const Structure structure : {Structure::pos_tree, Structure::patricia_trie, Structure::bucket_tree}) {
    indexes_[static_cast<size_t>(structure)] = merkle::make_index({.structure = structure});
  }
  merkle::MemoryNodes nodes;
  empty_ = index(Structure::pos_tree).empty(nodes);
}

const merkle::Index& Roots::index_of(merkle::Nodes& nodes, const Hash& root) const {
  return index(merkle::structure_of(*nodes.get(root)));
}

Hash Roots::empty(Transaction& transaction, const TreeKind& kind) const {
  merkle::TableNodes nodes(transaction, table_, *cache_);
  if (kind != TreeKind()) return merkle::make_index(kind.index_options())->empty(nodes);
  // It is written once, and never removed: transactions that wrote it again would conflict with each other.
  if (!table_.get(transaction, view(empty_))) index(Structure::pos_tree).empty(nodes);
  return empty_;
}

TreeKind Roots::kind(Transaction& transaction, const Hash& root) const {
  merkle::TableNodes nodes(transaction, table_, *cache_);
  const merkle::NodePtr node = nodes.get(root);
  TreeKind kind{.structure = merkle::structure_of(*node)};
  if (kind.structure == Structure::bucket_tree) kind.buckets = static_cast<uint32_t>(merkle::bucket_root_of(*node).buckets);
  return kind;
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
  const Structure structure = merkle::structure_of(*nodes.get(root));
  const auto too_long = [](const merkle::Change& change) {
    return change.value && change.key.size() > merkle::trie_key_bytes_max;
  };
  if (structure == Structure::patricia_trie && std::any_of(all.begin(), all.end(), too_long)) {
    throw base::OperationError(
        base::ErrorCode::bad_value,
        "a document's _id takes more than " + std::to_string(merkle::trie_key_bytes_max) +
            " bytes, which a 'patriciaTrie' doesn't have: collMod with another 'commits.tree' comes first");
  }
  return index(structure).update(nodes, root, all);
}

std::vector<DocumentHash> Roots::some(Transaction& transaction, const Hash& root, const std::optional<Bytes>& behind,
                                      size_t count_max) const {
  merkle::TableNodes nodes(transaction, table_, *cache_);
  std::vector<DocumentHash> some;
  index_of(nodes, root)
      .scan(nodes, root, behind ? std::optional<BytesView>(*behind) : std::nullopt, [&](BytesView key, BytesView value) {
        if (behind && key == *behind) return true;
        some.push_back({Bytes(key), hash_in(value)});
        return some.size() < count_max;
      });
  return some;
}

std::optional<Hash> Roots::find(Transaction& transaction, const Hash& root, BytesView key) const {
  merkle::TableNodes nodes(transaction, table_, *cache_);
  const auto found = index_of(nodes, root).find(nodes, root, key);
  return found ? std::optional(hash_in(found->value)) : std::nullopt;
}

void Roots::diff(Transaction& transaction, const Hash& a, const Hash& b, const Visit& visit) const {
  merkle::TableNodes nodes(transaction, table_, *cache_);
  const TreeKind kind = this->kind(transaction, a);
  if (kind != this->kind(transaction, b)) return diff_kinds(nodes, a, b, visit);
  index(kind.structure).diff(nodes, a, b, [&](const merkle::Difference& difference) {
    return visit(difference.key, difference.b ? std::optional(hash_in(*difference.b)) : std::nullopt);
  });
}

// Trees of two kinds share no nodes: each document of either is looked up in the other.
void Roots::diff_kinds(merkle::Nodes& nodes, const Hash& a, const Hash& b, const Visit& visit) const {
  const merkle::Index &in_a = index_of(nodes, a), &in_b = index_of(nodes, b);
  bool goes_on = true;
  in_a.scan(nodes, a, std::nullopt, [&](BytesView key, BytesView value) {
    const auto other = in_b.find(nodes, b, key);
    if (!other || other->value != value) goes_on = visit(key, other ? std::optional(hash_in(other->value)) : std::nullopt);
    return goes_on;
  });
  if (!goes_on) return;
  in_b.scan(nodes, b, std::nullopt,
            [&](BytesView key, BytesView value) { return in_a.find(nodes, a, key) || visit(key, hash_in(value)); });
}

namespace {

// The rows that are leaves of tries. They are never deltas, and short. This checks that each one's hash is its name: otherwise a
// damaged inner node would count as a leaf, and everything below it would be removed.
class TrieLeaves {
 public:
  TrieLeaves(Transaction& transaction, const Table& table) : transaction_(transaction), table_(table) {}

  bool contains(const Hash& hash) {
    if (!hashes_) {
      hashes_.emplace();
      TableCursor cursor = table_.cursor(transaction_);
      while (cursor.next()) {
        const Hash hash = merkle::read_hash(cursor.key().data());
        if (cursor.value().starts_with(static_cast<char>(merkle::NodeKind::trie_leaf)) && merkle::sha256(cursor.value()) == hash)
          hashes_->insert(hash);
      }
    }
    return hashes_->contains(hash);
  }

 private:
  Transaction& transaction_;
  const Table& table_;
  std::optional<std::unordered_set<Hash, merkle::HashOfHash>> hashes_;  // filled in one pass, at the first question
};

// The nodes of all these trees, without the leaves, which aren't read.
class NodesOfTrees {
 public:
  using Found = std::unordered_set<Hash, merkle::HashOfHash>;

  NodesOfTrees(merkle::Nodes& nodes, TrieLeaves& trie_leaves) : nodes_(nodes), trie_leaves_(trie_leaves) {}

  Found find(const std::vector<Hash>& roots, const std::function<void()>& interrupted) {
    for (const Hash& root : roots) {
      if (found_.insert(root).second) waiting_.push_back({root, {}});
    }
    while (!waiting_.empty()) {
      if (interrupted) interrupted();
      const Waiting here = std::move(waiting_.back());
      waiting_.pop_back();
      find_below(*nodes_.get(here.hash), here.path);
    }
    return std::move(found_);
  }

 private:
  struct Waiting {
    Hash hash;
    merkle::BucketPath path;  // for bucket trees: the way from there to a bucket
  };

  void find_below(const merkle::Node& node, merkle::BucketPath path) {
    const bool is_trie = merkle::structure_of(node) == Structure::patricia_trie;
    bool below_are_leaves = merkle::names_leaves(node);
    if (merkle::structure_of(node) == Structure::bucket_tree) {
      if (node.kind() == merkle::NodeKind::bucket_root)
        path = {merkle::bucket_root_of(node), 0};
      else
        path.down();
      below_are_leaves = !path.place();
    }
    for (const Hash& child : merkle::children_of(node)) {
      if (!found_.insert(child).second || below_are_leaves || (is_trie && trie_leaves_.contains(child))) continue;
      waiting_.push_back({child, path});
    }
  }

  merkle::Nodes& nodes_;
  TrieLeaves& trie_leaves_;
  Found found_;
  std::vector<Waiting> waiting_;
};

}  // namespace

uint64_t Roots::free(Transaction& transaction, const std::vector<Hash>& roots, size_t nodes_max,
                     const std::function<void()>& interrupted) const {
  merkle::TableNodes nodes(transaction, table_, *cache_);
  TrieLeaves trie_leaves(transaction, table_);
  NodesOfTrees::Found kept = NodesOfTrees(nodes, trie_leaves).find(roots, interrupted);
  kept.insert(empty_);
  std::unordered_map<Hash, Hash, merkle::HashOfHash> leans;  // every row that is a delta -> its base
  std::vector<Hash> rows;                                    // rows that are in no tree
  TableCursor cursor = table_.cursor(transaction);
  while (cursor.next()) {
    const Hash hash = merkle::read_hash(cursor.key().data());
    if (const auto base = merkle::TableNodes::base_of(cursor.value())) leans.emplace(hash, *base);
    if (!kept.contains(hash)) rows.push_back(hash);
  }
  const std::vector<Hash> named(kept.begin(), kept.end());
  for (Hash at : named) {
    for (auto base = leans.find(at); base != leans.end() && kept.insert(base->second).second; base = leans.find(at))
      at = base->second;
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
  return index_of(nodes, root).prove(nodes, root, key);
}

std::unique_ptr<merkle::Nodes> Roots::nodes(Transaction& transaction, merkle::NodeCache& cache) const {
  return std::make_unique<merkle::TableNodes>(transaction, table_, cache);
}

}  // namespace versions
