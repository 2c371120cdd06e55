// This part of Past replaces damaged tables.
#include <algorithm>
#include <array>

#include "storage/collections/stored_catalog.h"
#include "storage/engine/names.h"
#include "storage/store.h"
#include "storage/upkeep/mended_table.h"
#include "versions/past/past.h"

namespace versions::past {

namespace {

// "plain.docs, shop.things": the collections that there are, of those whose rows may be missing.
std::string names_of(const storage::Catalog& catalog, const std::vector<Hole>& holes) {
  std::string names;
  for (const std::string& db : catalog.databases()) {
    if (storage::is_own(db + ".")) continue;
    for (const auto& collection : catalog.collections(db)) {
      const Bytes prefix = storage::catalog_key(collection->id());
      if (std::none_of(holes.begin(), holes.end(), [&](const Hole& hole) { return may_hold(hole, prefix); })) continue;
      names.append(names.empty() ? "" : ", ").append(collection->ns());
    }
  }
  return names.empty() ? "collections that were dropped" : names;
}

}  // namespace

std::vector<std::string> Past::repair(const std::function<void()>& interrupted) {
  if (!made_.load(std::memory_order_acquire)) return {};
  const base::MutexLock one_at_a_time(tidying_);
  const std::vector<DeclaredSnapshot> snapshots = snapshots_.all();
  std::vector<std::string> said;
  const std::array<const storage::Table*, 4> tables{&rows_, &chains_, &entries_.table(), &states_.table()};
  for (const storage::Table* const table : tables) {
    const bool of_branches = table == &states_.table();
    const auto fill = [&](const storage::Table& replacement, const storage::Tables::Kept& kept) {
      if (!snapshots.empty())
        lost_.add(of_branches ? LostKind::of_branches : LostKind::of_collections, kept.holes, snapshots.back().stamp);
      if (table == &rows_) forget_logs(replacement, kept.holes);
    };
    const auto kept = storage::mend_table(store_.engine(), table->name(), interrupted, fill);
    if (!kept) continue;
    said.push_back(storage::text_of(table->name(), *kept));
    if (kept->holes.empty() || snapshots.empty()) continue;
    said.push_back("Lost: what snapshots up to " + snapshots.back().text() + " show of " +
                   (of_branches ? "branches" : names_of(store_.catalog(), kept->holes)) + ". Reads of it fail.");
  }
  nodes_.clear();
  sealed_below_ = 0;
  return said;
}

void Past::check_whole(CollectionId collection, Stamp snapshot, std::string_view ns) const {
  lost_.check(LostKind::of_collections, storage::catalog_key(collection), snapshot, ns);
}

// The levels over a log don't go on without its nodes.
void Past::forget_logs(const storage::Table& rows, const std::vector<Hole>& holes) {
  for (const CollectionId collection : collections_in(rows)) {
    const Bytes prefix = storage::catalog_key(collection);
    if (std::none_of(holes.begin(), holes.end(), [&](const Hole& hole) { return may_hold(hole, prefix); })) continue;
    storage::in_transaction(
        store_, [&](Transaction& transaction) { rows.truncate(transaction, prefix, storage::catalog_key(collection + 1)); });
  }
}

}  // namespace versions::past
