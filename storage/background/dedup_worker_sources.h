// This class is a part of DedupWorker; only DedupWorker's own files use it.
#pragma once

#include "storage/background/dedup_worker.h"

namespace storage {

// This class reads whole contents for the encoder. Each read has its own transaction, because a transaction that lasted for a
// batch would make the engine keep everything that is overwritten meanwhile.
class DedupWorker::Sources : public dedup::RecordSource {
 public:
  explicit Sources(DedupWorker& worker) : worker_(worker) {}

  std::optional<Bytes> fetch(const dedup::ContentId& id) override {
    const auto store = worker_.store_of(id.collection);
    if (!store) return std::nullopt;
    try {
      Transaction transaction(worker_.engine_, Transaction::Mode::read);
      return store->find(transaction, {id.record, id.generation});
    } catch (const WriteConflict&) {
      return std::nullopt;  // The engine is short of cache, so the encoder gets one candidate less.
    } catch (const base::OperationError& error) {
      if (error.code() != base::ErrorCode::data_corruption_detected) throw;
      return std::nullopt;  // The reader of the record reports the damage.
    }
  }

 private:
  DedupWorker& worker_;
};

}  // namespace storage
