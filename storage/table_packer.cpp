#include "storage/table_packer.h"

#include "storage/engine.h"

namespace storage {

namespace {

constexpr size_t batch_rows = 500;
constexpr size_t batch_bytes = 1 << 20;
constexpr int64_t pack_bytes_min = 1 << 20;
constexpr int64_t pack_share = 4;       // pack when what left is more than 1/4 of what stayed
constexpr int64_t reusable_min = 1 << 20;
constexpr int64_t reusable_share = 5;   // compact when more than 1/5 of the file is unused

bool thin(int64_t left, int64_t stayed) { return left >= pack_bytes_min && left >= stayed / pack_share; }

}  // namespace

bool TablePacker::tidy(ChainStore& store, const std::function<bool()>& interrupted) {
  const StoreCounts counts = store.counters().get();
  bool any = false;
  // First the packed table: its rows go to where the next step takes them from.
  if (thin(counts.thinned_packed_bytes, counts.raw_bytes)) any |= pack(store, true, interrupted);
  if (thin(counts.thinned_bytes + (any ? pack_bytes_min : 0), counts.raw_bytes) || any) any |= pack(store, false, interrupted);
  if (interrupted()) return any;
  for (const auto& name : store_table_names(store.collection())) any |= compact_if_worth(name);
  return any;
}

bool TablePacker::pack(ChainStore& store, bool back, const std::function<bool()>& interrupted) {
  const Table& from = back ? store.tables().packed : store.tables().records;
  const Table& to = back ? store.tables().records : store.tables().packed;
  const StoreCounts before = store.counters().get();
  const int64_t thinned = back ? before.thinned_packed_bytes : before.thinned_bytes;
  bool any = false;
  Bytes position = record_key(record_id_min);
  for (;;) {
    if (interrupted()) return any;
    Bytes reached;
    const size_t moved = in_transaction(engine_, [&](Transaction& transaction) {
      std::vector<std::pair<Bytes, Bytes>> rows;
      size_t bytes = 0;
      {
        TableCursor cursor = from.cursor(transaction);
        for (bool on = cursor.seek(position); on && rows.size() < batch_rows && bytes < batch_bytes; on = cursor.next()) {
          rows.emplace_back(cursor.key(), cursor.value());
          bytes += rows.back().second.size();
        }
      }
      for (const auto& [key, row] : rows) {
        from.remove(transaction, key);
        to.put(transaction, key, row);
      }
      if (!rows.empty()) reached = rows.back().first;
      return rows.size();
    });
    if (moved == 0) break;
    any = true;
    packed_ += moved;
    position = reached + '\0';
    if (!back) store.set_packed_below(record_from_key(reached) + 1);
  }
  store.counters().add(back ? StoreCounts{.thinned_packed_bytes = -thinned} : StoreCounts{.thinned_bytes = -thinned});
  if (back) store.set_packed_below(0);
  return any;
}

bool TablePacker::compact_if_worth(const std::string& table) {
  const int64_t file = engine_.file_bytes(table);
  const int64_t reusable = engine_.reusable_bytes(table);
  if (reusable < reusable_min || reusable < file / reusable_share) return false;
  engine_.checkpoint();
  engine_.compact(table);
  engine_.checkpoint();
  ++compactions_;
  return engine_.file_bytes(table) < file;
}

}  // namespace storage
