#include "storage/background/cold_pass.h"

namespace storage {

namespace {

constexpr size_t rows_max = 2048;
constexpr size_t found_max = 64;
constexpr size_t found_bytes_max = 1 << 20;

}  // namespace

std::vector<ColdPass::Found> ColdPass::look(RecordStore& records, Transaction& transaction, const Wanted& wanted) {
  if (at_end_) {
    from_ = 0;
    warm_ = 0;
    at_end_ = false;
  }
  const RecordStore::State& state = records.state();
  std::vector<Found> found;
  size_t bytes = 0;
  RecordCursor cursor = records.cursor(transaction);
  cursor.seek_after(from_);
  for (size_t rows = 0; rows < rows_max && found.size() < found_max && bytes < found_bytes_max; ++rows) {
    if (!cursor.next()) {
      at_end_ = true;
      break;
    }
    from_ = cursor.id();
    try {
      if (!cursor.whole()) continue;
      const ContentName name{cursor.id(), cursor.generation()};
      const bool missed = name.generation >= wanted.missed_from;
      if (!missed) {
        if (!wanted.cold) continue;
        if (name.generation > wanted.written_before || state.reads.recent(name.record)) {
          ++warm_;
          continue;
        }
      }
      const BytesView content = cursor.content();
      if (content.size() < wanted.bytes_min) continue;
      const auto placement = state.chains.placement(transaction, name);
      found.push_back({name, Bytes(content), placement.value_or(dedup::Placement{name.record, 0}), missed});
      bytes += content.size();
    } catch (const base::OperationError& error) {
      if (error.code() != base::ErrorCode::data_corruption_detected) throw;  // Only validate reports damage.
    }
  }
  return found;
}

}  // namespace storage
