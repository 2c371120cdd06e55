#include "storage/background/write_back_flusher.h"

#include "base/log.h"
#include "storage/engine/engine.h"

namespace storage {

namespace {

constexpr int log_wrong = 7200101;
constexpr int log_damaged = 7200102;

void count(const dedup::Backward& backward, WriteBackResult result, WriteBackFigures& figures) {
  switch (result) {
    case WriteBackResult::written:
      ++figures.written;
      figures.saved_bytes += backward.saved_bytes;
      return;
    case WriteBackResult::stale: ++figures.stale; return;
    case WriteBackResult::no_gain: ++figures.no_gain; return;
    case WriteBackResult::wrong:
      ++figures.wrong;
      base::log(base::Severity::warning, base::LogComponent::storage, log_wrong,
                "A delta does not give its content back, and was not used",
                base::Attributes().add("target", dedup::to_string(backward.target)).add("base", dedup::to_string(backward.base)));
      return;
  }
}

// The function returns false when it met a conflict, or a problem for which the deltas must be tried one by one.
bool flush_together(Engine& engine, const std::vector<dedup::Backward>& batch, const ChainStoreOf& store_of,
                    WriteBackFigures& figures) {
  WriteBackFigures together = figures;
  // The commit still changes the stores' counts, and a collection may be dropped before that; so the stores are kept alive.
  std::vector<std::shared_ptr<ChainStore>> in_use;
  try {
    Transaction transaction(engine, Transaction::Mode::write);
    for (const auto& backward : batch) {
      const auto& store = in_use.emplace_back(store_of(backward.target.collection));
      count(backward, store ? store->write_back(transaction, backward) : WriteBackResult::stale, together);
    }
    transaction.commit();
  } catch (const WriteConflict&) {
    return false;
  } catch (const base::OperationError& error) {
    if (batch.size() == 1) throw;
    return false;
  }
  figures = together;
  return true;
}

}  // namespace

void flush_write_backs(Engine& engine, const std::vector<dedup::Backward>& batch, const ChainStoreOf& store_of,
                       WriteBackFigures& figures) {
  if (batch.empty() || flush_together(engine, batch, store_of, figures)) return;
  for (const auto& backward : batch) {
    try {
      if (!flush_together(engine, {backward}, store_of, figures)) ++figures.conflicts;
    } catch (const base::OperationError& error) {
      if (error.code() != base::ErrorCode::data_corruption_detected) throw;
      base::log(base::Severity::error, base::LogComponent::storage, log_damaged, "A damaged record was met while writing back",
                base::Attributes().add("target", dedup::to_string(backward.target)).add("error", error.what()));
    }
  }
}

}  // namespace storage
