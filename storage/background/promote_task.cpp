#include "storage/background/promote_task.h"

#include "storage/engine/transaction.h"

namespace storage {

bool PromoteTask::step(const Round&) {
  const auto collections =
      tracked_.where([](Collection& collection) { return collection.records().state().demoted_reads.any(); });
  bool any = false;
  for (const auto& collection : collections) {
    for (const RecordId record : collection->records().state().demoted_reads.take()) {
      const auto store = sources_.store(collection->id());
      if (!store) break;
      any |= promote(*collection, *store, record);
    }
  }
  if (any) figures_.publish(false);
  return any;
}

bool PromoteTask::promote(Collection& collection, ChainStore& store, RecordId record) {
  Partition& part = partitions_.of(collection);
  std::optional<dedup::ContentId> id;
  {
    Transaction transaction(engine_, Transaction::Mode::read);
    if (const auto place = find_sound_row(store.tables(), transaction, record))
      id = {collection.id(), record, place->row.generation};
  }
  if (!id) return false;
  const auto placement = part.encoder->placement(*id);
  const auto ordinal = placement ? std::optional(placement->ordinal) : std::nullopt;
  try {
    if (!in_transaction(engine_, [&](Transaction& transaction) { return store.promote(transaction, record, ordinal); }))
      return false;
  } catch (const base::OperationError& error) {
    if (error.code() != base::ErrorCode::data_corruption_detected) throw;  // The reader got the error.
    return false;
  }
  part.encoder->promote(*id);
  part.dirty = true;
  ++collection.records().state().promoted;
  return true;
}

}  // namespace storage
