#include "storage/background/dead_sweep.h"

namespace storage {

DeadSweep::Slice DeadSweep::look(const ChainStore& store, Transaction& transaction, size_t rows_max) {
  Slice slice;
  const Table& chains = store.tables().chains;
  TableCursor cursor = chains.cursor(transaction);
  bool on = cursor.seek(from_.empty() ? BytesView("\0", 1) : BytesView(from_));
  for (; on && slice.rows < rows_max; on = cursor.next(), ++slice.rows) {
    const auto key = parse_chain_key(cursor.key());
    if (!key) continue;  // Only validate reports damage.
    const auto row = parse_chain_row(cursor.value(), key.value());
    if (!row || row.value().form != ChainRow::Form::delta) continue;
    const ChainKey base = row.value().base;
    const auto base_bytes = chains.get(transaction, chain_key(base));
    if (!base_bytes) continue;
    const auto base_row = parse_chain_row(*base_bytes, base);
    if (!base_row || !base_row.value().garbage()) continue;

    if (waiting_dependents_ >= waiting_max && !waiting_.contains(base)) continue;
    Waiting& waiting = waiting_[base];
    waiting.references = base_row.value().references;
    waiting.dependents.push_back(key.value());
    ++waiting_dependents_;
    if (waiting.dependents.size() < waiting.references) continue;
    waiting_dependents_ -= waiting.dependents.size();
    slice.found.push_back({base, std::move(waiting.dependents)});
    waiting_.erase(base);
  }
  if (on) {
    from_ = Bytes(cursor.key());
    return slice;
  }
  // The contents that are still incomplete changed meanwhile. Some of the contents based on them can still be based on their base
  // instead.
  for (auto& [dead, waiting] : waiting_) slice.found.push_back({dead, std::move(waiting.dependents)});
  waiting_.clear();
  waiting_dependents_ = 0;
  from_.clear();
  return slice;
}

}  // namespace storage
