#include "versions/database/filtered_roots.h"

#include <algorithm>

#include "storage/engine/names.h"

namespace versions {

using base::ErrorCode;
using base::OperationError;

namespace {

// The keys of a tree that is made as a whole are held, with some 100 bytes each beside them.
constexpr size_t held_bytes_max = 512 << 20;
constexpr size_t entry_bytes = 100;
constexpr size_t differences_bytes_max = 64 << 20;  // beyond, the commit's documents are tested as they lie
constexpr size_t documents_between_checks = 1'000;

}  // namespace

std::optional<Hash> KnownRoots::find(const Hash& key) {
  const base::MutexLock lock(mutex_);
  if (const auto found = young_.find(key); found != young_.end()) return found->second;
  const auto found = old_.find(key);
  if (found == old_.end()) return std::nullopt;
  const Hash root = found->second;
  add(key, root);
  return root;
}

void KnownRoots::put(const Hash& key, const Hash& root) {
  const base::MutexLock lock(mutex_);
  add(key, root);
}

void KnownRoots::add(const Hash& key, const Hash& root) {
  if (young_.size() >= generation_max) old_ = std::exchange(young_, {});
  young_.emplace(key, root);
}

KnownRoots::Trees KnownRoots::take(const Hash& filter) {
  const base::MutexLock lock(mutex_);
  const auto found = std::find_if(trees_.begin(), trees_.end(), [&](const auto& one) { return one.first == filter; });
  if (found == trees_.end()) return {};
  Trees taken = std::move(found->second);
  trees_.erase(found);
  return taken;
}

void KnownRoots::give_back(const Hash& filter, Trees trees) {
  const base::MutexLock lock(mutex_);
  std::erase_if(trees_, [&](const auto& one) { return one.first == filter; });
  trees_.emplace_back(filter, std::move(trees));
  uint64_t bytes = 0;
  for (const auto& [name, one] : trees_) bytes += one.nodes->bytes();
  while (!trees_.empty() && bytes > trees_bytes_max) {
    bytes -= trees_.front().second.nodes->bytes();
    trees_.pop_front();
  }
}

void refuse_purged(const SharedCollection& collection) {
  throw OperationError(ErrorCode::illegal_operation, "commits show documents of '" +
                                                         std::string(storage::collection_of(collection.base.ns())) +
                                                         "' that were purged: nobody knows whether a filter matches them");
}

FilteredRoots::FilteredRoots(With with) : with_(std::move(with)) {
  const bson::CollatorPtr& collator = with_.collection.base.options().collator;
  Bytes name(with_.filter.bytes());
  if (collator) name.append(collator->specification().bytes());
  filter_name_ = merkle::sha256(name);
  purged_ = !with_.collection.store.purged_records(with_.transaction).empty();
  if (!purged_) trees_ = with_.known.take(filter_name_);
}

void FilteredRoots::end() {
  if (!purged_) with_.known.give_back(filter_name_, std::exchange(trees_, {}));
}

Hash FilteredRoots::name_of(const Hash& tree) const {
  return merkle::sha256(Bytes(view(filter_name_)) + Bytes(view(tree)));
}

Hash FilteredRoots::root(const Commit& commit) {
  const storage::CollectionId id = with_.collection.base.id();
  const CollectionState& state = *commit.state_of(id);
  const auto tree = commit.root_of(state);
  if (!tree) return state.digest;
  const Hash name = name_of(*tree);
  if (const auto here = trees_.roots.find(*tree); here != trees_.roots.end()) return here->second;
  if (const auto known = purged_ ? std::nullopt : with_.known.find(name)) return *known;
  if (with_.interrupted) with_.interrupted();
  const Roots& roots = with_.database.branches().roots();
  const VersionGraph& graph = with_.database.branches().graph();
  auto from = trees_.roots.end();
  if (!commit.parents.empty()) {
    const auto parent = graph.commit(with_.transaction, commit.parents.front());
    const CollectionState* const before = parent->state_of(id);
    if (const auto one = before ? parent->root_of(*before) : std::nullopt) from = trees_.roots.find(*one);
  }
  const bool goes_on =
      from != trees_.roots.end() && roots.kind(with_.transaction, from->first) == roots.kind(with_.transaction, *tree);
  const View view{.state = state.state};
  std::optional<Hash> filtered;
  if (goes_on) filtered = changed(view, from->first, from->second, *tree);
  if (!filtered) filtered = built(view, *tree);
  trees_.roots[*tree] = *filtered;
  if (!purged_) with_.known.put(name, *filtered);
  forget_if_many();
  return *filtered;
}

std::optional<Hash> FilteredRoots::changed(const View& view, const Hash& from, const Hash& from_filtered, const Hash& tree) {
  const Roots& roots = with_.database.branches().roots();
  std::vector<DocumentHash> differences;
  size_t bytes = 0, checked = 0;
  roots.diff(with_.transaction, from, tree, [&](BytesView key, const std::optional<Hash>& hash) {
    if (with_.interrupted && differences.size() % documents_between_checks == 0) with_.interrupted();
    bytes += entry_bytes + key.size();
    if (bytes > differences_bytes_max) return false;
    differences.push_back({Bytes(key), hash});
    return true;
  });
  if (bytes > differences_bytes_max) return std::nullopt;
  std::sort(differences.begin(), differences.end(), [](const DocumentHash& a, const DocumentHash& b) { return a.key < b.key; });
  for (DocumentHash& one : differences) {
    if (with_.interrupted && ++checked % documents_between_checks == 0) with_.interrupted();
    if (!one.hash) continue;
    const auto content = with_.collection.store.get(with_.transaction, view, one.key);
    if (!content || sha256(*content) != *one.hash) refuse_purged(with_.collection);
    if (!with_.matches(bson::DocumentView(*content))) one.hash.reset();
  }
  std::vector<merkle::Change> changes;
  changes.reserve(differences.size());
  for (const DocumentHash& one : differences)
    changes.push_back({one.key, one.hash ? std::optional(versions::view(*one.hash)) : std::nullopt});
  const auto index = merkle::make_index(roots.kind(with_.transaction, tree).index_options());
  return index->update(*trees_.nodes, from_filtered, changes);
}

Hash FilteredRoots::built(const View& view, const Hash& tree) {
  BranchStore& store = with_.collection.store;
  const Roots& roots = with_.database.branches().roots();
  for (const Bytes& key : store.purged_of(with_.transaction, view.state).keys) {
    if (roots.find(with_.transaction, tree, key) && !store.get(with_.transaction, view, key)) refuse_purged(with_.collection);
  }
  std::vector<DocumentHash> entries;
  size_t bytes = 0, checked = 0;
  const auto scan = store.scan(with_.transaction, view);
  while (scan->next()) {
    if (with_.interrupted && ++checked % documents_between_checks == 0) with_.interrupted();
    const BytesView content = scan->content();
    if (!with_.matches(bson::DocumentView(content))) continue;
    entries.push_back({key_of(content), sha256(content)});
    bytes += entry_bytes + entries.back().key.size();
    if (bytes > held_bytes_max) {
      throw OperationError(ErrorCode::exceeded_memory_limit,
                           "the filter matches too many documents of one commit: their keys have more than " +
                               std::to_string(held_bytes_max >> 20) + " MB");
    }
  }
  std::sort(entries.begin(), entries.end(), [](const DocumentHash& a, const DocumentHash& b) { return a.key < b.key; });
  std::vector<merkle::Change> changes;
  changes.reserve(entries.size());
  for (const DocumentHash& one : entries) changes.push_back({one.key, versions::view(*one.hash)});
  const uint64_t before = trees_.nodes->bytes();
  const auto index = merkle::make_index(roots.kind(with_.transaction, tree).index_options());
  const Hash root = index->build(*trees_.nodes, changes);
  if (with_.old_nodes_bytes > 0) trees_.bytes_max += 2 * (trees_.nodes->bytes() - before);
  return root;
}

// The next roots are made from their documents again. Trees that are large themselves have twice their bytes.
void FilteredRoots::forget_if_many() {
  if (trees_.nodes->bytes() <= std::max(with_.old_nodes_bytes, trees_.bytes_max)) return;
  trees_ = {};
}

}  // namespace versions
