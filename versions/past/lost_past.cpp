#include "versions/past/lost_past.h"

#include <algorithm>

#include "base/error.h"
#include "storage/contents/declared_snapshots.h"
#include "storage/store.h"

namespace versions::past {

namespace {

constexpr char table_name[] = "past-lost";
constexpr size_t header_bytes = 1 + sizeof(uint16_t);
constexpr size_t from_bytes_max = 256;  // keys of index entries may be long; a hole that begins earlier says more

storage::Table open_table(storage::Store& store) {
  return store.engine().open_table(table_name, {.allocation_bytes = 512, .copied = true});
}

}  // namespace

bool may_hold(const Hole& hole, BytesView prefix) {
  const BytesView from = hole.from;
  const bool all_before = from > prefix && !from.starts_with(prefix);
  return !all_before && (!hole.to || prefix < BytesView(*hole.to));
}

Bytes lost_row_key(LostKind kind, const Hole& hole) {
  const BytesView from = BytesView(hole.from).substr(0, from_bytes_max);
  Bytes key(1, static_cast<char>(kind));
  key.push_back(static_cast<char>(from.size() >> 8));
  key.push_back(static_cast<char>(from.size()));
  key.append(from);
  if (hole.to) key.append(1, '\1').append(*hole.to);
  return key;
}

Bytes write_lost_row(Stamp snapshot) {
  Bytes row;
  base::append_be64(row, snapshot);
  return row;
}

LostRow read_lost_row(BytesView key, BytesView value) {
  const auto damaged = [] {
    throw base::OperationError(base::ErrorCode::data_corruption_detected, "a row of what snapshots have lost is damaged");
  };
  if (key.size() < header_bytes || value.size() != sizeof(Stamp)) damaged();
  const auto kind = static_cast<LostKind>(key.front());
  const size_t length = static_cast<size_t>(static_cast<uint8_t>(key[1])) << 8 | static_cast<uint8_t>(key[2]);
  const BytesView from = key.substr(header_bytes, length), to = key.substr(std::min(key.size(), header_bytes + length));
  if ((kind != LostKind::of_collections && kind != LostKind::of_branches) || length > from_bytes_max || from.size() != length ||
      (!to.empty() && to.front() != '\1'))
    damaged();
  return {kind, {Bytes(from), to.empty() ? std::nullopt : std::optional(Bytes(to.substr(1)))}, base::load_be64(value.data())};
}

void LostPast::open() {
  const auto tables = store_.engine().table_names();
  if (std::find(tables.begin(), tables.end(), table_name) == tables.end()) return;
  const base::WriterLock lock(mutex_);
  table_ = open_table(store_);
  load();
}

void LostPast::load() {
  lost_.clear();
  Stamp newest = 0;
  Transaction transaction(store_, Transaction::Mode::read);
  storage::TableCursor cursor = table_.cursor(transaction);
  while (cursor.next()) {
    lost_.push_back(read_lost_row(cursor.key(), cursor.value()));
    newest = std::max(newest, lost_.back().snapshot);
  }
  newest_.store(newest, std::memory_order_release);
}

void LostPast::add(LostKind kind, const std::vector<Hole>& holes, Stamp snapshot) {
  const base::WriterLock lock(mutex_);
  if (!table_.exists()) table_ = open_table(store_);
  const Bytes row = write_lost_row(snapshot);
  storage::in_transaction(store_, [&, table = table_](Transaction& transaction) {
    for (const Hole& hole : holes) table.put(transaction, lost_row_key(kind, hole), row);
  });
  load();
}

void LostPast::keep_only_declared() {
  if (newest_.load(std::memory_order_acquire) == 0) return;
  const base::WriterLock lock(mutex_);
  const std::vector<Stamp> snapshots = store_.declared_snapshots().all();
  std::vector<Bytes> gone;
  for (const LostRow& one : lost_) {
    if (snapshots.empty() || one.snapshot < snapshots.front()) gone.push_back(lost_row_key(one.kind, one.hole));
  }
  storage::in_transaction(store_, [&, table = table_](Transaction& transaction) {
    for (const Bytes& key : gone) table.remove(transaction, key);
  });
  load();
}

void LostPast::check(LostKind kind, BytesView prefix, Stamp snapshot, std::string_view what) const {
  if (snapshot > newest_.load(std::memory_order_acquire)) return;
  const base::ReaderLock lock(mutex_);
  for (const LostRow& one : lost_) {
    if (one.kind != kind || snapshot > one.snapshot || !may_hold(one.hole, prefix)) continue;
    throw base::OperationError(
        base::ErrorCode::data_corruption_detected,
        "what this snapshot shows of " + std::string(what) + " can't be read: a repair found that a part of it is lost");
  }
}

}  // namespace versions::past
