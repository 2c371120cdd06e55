// Inside a DedupWorker; for its files alone.
#pragma once

#include "storage/background/dedup_worker.h"

namespace storage {

// Whole contents for the encoder. Each in a transaction of its own: one that
// lasted for a batch would make the engine keep what is overwritten meanwhile.
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
      return std::nullopt;  // the engine is short of cache: one candidate less
    } catch (const base::OperationError& error) {
      if (error.code() != base::ErrorCode::data_corruption_detected) throw;
      return std::nullopt;  // damage is for who reads the record to report
    }
  }

 private:
  DedupWorker& worker_;
};

}  // namespace storage
