#include "storage/background/sources.h"

#include "storage/engine/engine.h"
#include "storage/engine/transaction.h"

namespace storage {

std::shared_ptr<Collection> Sources::collection(CollectionId id) {
  auto& collection = in_use_[id];
  if (!collection) collection = tracked_.find(id);
  if (!collection || collection->dropped()) {
    in_use_.erase(id);
    return nullptr;
  }
  return collection;
}

std::shared_ptr<ChainStore> Sources::store(CollectionId id) {
  const auto found = collection(id);
  if (!found) return nullptr;
  return {found, &found->records().state().chains};
}

std::optional<Bytes> Sources::fetch(const dedup::ContentId& id) {
  const auto found = store(id.collection);
  if (!found) return std::nullopt;
  try {
    Transaction transaction(engine_, Transaction::Mode::read);
    return found->find(transaction, {id.record, id.generation});
  } catch (const WriteConflict&) {
    return std::nullopt;  // The engine is short of cache, so the encoder gets one candidate less.
  } catch (const base::OperationError& error) {
    if (error.code() != base::ErrorCode::data_corruption_detected) throw;
    return std::nullopt;  // The reader of the record reports the damage.
  }
}

}  // namespace storage
