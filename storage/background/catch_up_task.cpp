#include "storage/background/catch_up_task.h"

#include "storage/contents/record_store_state.h"
#include "storage/engine/transaction.h"

namespace storage {

namespace {
constexpr size_t slice_count = 256;
constexpr size_t slice_bytes = 1 << 20;
}  // namespace

bool CatchUpTask::step(const Round&) {
  const auto behind = tracked_.where(
      [this](Collection& collection) { return collection.records().state().behind() && options_.wanted(collection); });
  if (behind.empty()) return false;
  Collection& collection = *behind.front();
  const Slice slice = read(collection, tracked_.looked_at(collection.id()));
  for (const auto& [id, content] : slice.contents) {
    ++figures_.counts().caught_up;
    encoder_.encode(collection, id, 0, false, content);
  }
  flush_.relieve();
  if (!tracked_.read_through(collection.id(), slice.reached)) return true;
  // Contents that are committed from here on are queued. Those that were committed since the snapshot have higher ids; a few
  // late ones with lower ids stay as they are.
  if (slice.end) {
    auto& state = collection.records().state();
    // This comes first: a thread that still saw the old value has an id that the next line sees.
    state.behind_from = RecordStore::State::not_behind;
    // If there were no records, the ids were never committed.
    if (slice.count > 0 && state.next_id.load() - 1 > slice.reached) state.fall_behind(slice.reached + 1);
  }
  tidy_.begin_again();
  figures_.publish(false);
  return true;
}

CatchUpTask::Slice CatchUpTask::read(Collection& collection, RecordId from) const {
  Slice slice;
  slice.reached = from;
  size_t bytes = 0;
  Transaction transaction(engine_, Transaction::Mode::read);
  RecordCursor cursor = collection.records().cursor(transaction);
  cursor.seek_after(from);
  while (slice.count < slice_count && bytes < slice_bytes) {
    if (!cursor.next()) {
      slice.end = true;
      break;
    }
    ++slice.count;
    slice.reached = cursor.id();
    try {
      if (!cursor.whole()) continue;
      slice.contents.emplace_back(dedup::ContentId{collection.id(), slice.reached, cursor.generation()}, cursor.content());
      bytes += slice.contents.back().second.size();
    } catch (const base::OperationError& error) {
      if (error.code() != base::ErrorCode::data_corruption_detected) throw;  // Only validate reports damage.
    }
  }
  return slice;
}

}  // namespace storage
