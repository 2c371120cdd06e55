#include "storage/background/splice_task.h"

#include "storage/background/put_off.h"
#include "storage/engine/transaction.h"

namespace storage {

bool SpliceTask::step(const Round&) {
  const auto collections = tracked_.where([](Collection& collection) { return collection.records().state().has_dead(); });
  bool any = false;
  PutOff put_off("splicing");
  for (const auto& collection : collections) {
    for (const auto& dead : collection->records().state().take_dead()) {
      const auto store = sources_.store(collection->id());
      if (!store) break;
      try {
        const bool spliced = in_transaction(engine_, [&](Transaction& transaction) { return store->splice(transaction, dead); });
        figures_.counts().spliced += spliced;
        any |= spliced;
      } catch (const base::OperationError& error) {
        put_off.add(error);
      }
    }
  }
  put_off.report();
  if (any) figures_.publish(false);
  return any;
}

}  // namespace storage
