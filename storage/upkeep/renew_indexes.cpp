#include "storage/upkeep/renew_indexes.h"

#include <charconv>

#include "base/error.h"
#include "base/log.h"
#include "storage/collections/catalog.h"
#include "storage/engine/transaction.h"
#include "storage/store.h"

namespace storage {
namespace {

constexpr int log_renewed = 7200508;
constexpr int log_not_renewed = 7200509;
constexpr std::string_view index_prefix = "index-";

// Returns the collection of "index-17-2"; nullptr if there is none.
std::shared_ptr<Collection> owner_of(Store& store, std::string_view table) {
  table.remove_prefix(index_prefix.size());
  CollectionId id = 0;
  std::from_chars(table.data(), table.data() + table.size(), id);
  return store.catalog().open(id);
}

}  // namespace

int IndexRenewal::run() {
  int renewed = 0;
  for (const DamagedPage& page : store_.engine().damaged_pages()) {
    if (!page.table.starts_with(index_prefix) || given_up_.contains(page.table)) continue;
    const auto collection = owner_of(store_, page.table);
    if (!collection || collection->dropped()) continue;
    // A rebuild makes all indexes of the collection, so other pages of the list may be gone by now.
    bool there = false;
    for (const auto& index : collection->indexes()) there = there || index->table().name() == page.table;
    if (!there) continue;
    base::Attributes whose;
    whose.add("ns", collection->ns()).add("table", page.table);
    try {
      store_.catalog().rebuild_indexes(collection, nullptr);
      base::log(base::Severity::warning, base::LogComponent::index, log_renewed,
                "An index was damaged; the collection's indexes were built anew", whose);
      ++renewed;
    } catch (const WriteConflict&) {
      continue;  // the next call tries again
    } catch (const base::OperationError& error) {
      given_up_.insert(page.table);
      base::log(base::Severity::error, base::LogComponent::index, log_not_renewed,
                "An index is damaged and could not be built anew; run validate with {repair: true}",
                whose.add("error", error.what()));
    }
  }
  return renewed;
}

}  // namespace storage
