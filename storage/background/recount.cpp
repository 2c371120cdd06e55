#include "storage/background/recount.h"

#include <mutex>
#include <optional>

#include "storage/contents/chain_check.h"
#include "storage/contents/record_store_state.h"

namespace storage {

bool recount(Engine& engine, Collection& collection, const std::function<void()>& interrupted) {
  ChainStore& chains = collection.records().state().chains;
  std::optional<Transaction> transaction;
  StoreCounts said;
  {
    const std::unique_lock schema(collection.schema_mutex(), std::try_to_lock);
    if (!schema) return false;
    if (collection.dropped()) return true;
    transaction.emplace(engine, Transaction::Mode::read);
    chains.tables().heads.get(*transaction, record_key(0));  // The snapshot begins with the first read.
    said = chains.counters().get();
  }
  StoreCounts difference = check_chains(chains, *transaction, false, interrupted).counts;
  difference -= said;
  chains.counters().add(difference.of_rows());
  return true;
}

}  // namespace storage
