#include "versions/past/saved_states.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/error.h"
#include "base/varint.h"
#include "storage/contents/declared_snapshots.h"
#include "storage/store.h"

namespace versions::past {
namespace {

constexpr size_t batch = 1024;  // rows that one transaction removes

// Owners of one length lie together.
Bytes prefix_of(BytesView owner) {
  return Bytes(1, static_cast<char>(owner.size())).append(owner);
}

Bytes row_key(BytesView owner, Stamp snapshot, BytesView name) {
  Bytes key = prefix_of(owner);
  base::append_be64(key, snapshot);
  return key.append(name);
}

struct Row {
  BytesView owner, name, value;
  Stamp snapshot = 0, since = 0;
};

Row row_at(const storage::TableCursor& cursor) {
  const BytesView key = cursor.key();
  BytesView value = cursor.value();
  const size_t owner_bytes = key.empty() ? 0 : static_cast<uint8_t>(key[0]);
  const auto since = base::take_varint(value);
  if (key.size() < 1 + owner_bytes + sizeof(Stamp) || !since) {
    throw base::OperationError(base::ErrorCode::data_corruption_detected, "a row of what branches were in snapshots is damaged");
  }
  const size_t name = 1 + owner_bytes + sizeof(Stamp);
  return {key.substr(1, owner_bytes), key.substr(name), value, base::load_be64(key.data() + 1 + owner_bytes), *since};
}

}  // namespace

void SavedStates::save(Transaction& transaction, BytesView owner, BytesView name, Stamp since, BytesView value,
                       Stamp snapshot) const {
  Bytes row;
  base::append_varint(row, since);
  table_.insert(transaction, row_key(owner, snapshot, name), row.append(value));
}

void SavedStates::each_as_of(Transaction& transaction, BytesView owner, Stamp snapshot,
                             const std::function<void(BytesView, BytesView)>& visit) const {
  if (!table_.exists()) return;
  std::map<Bytes, bool> saved;
  const Bytes prefix = prefix_of(owner);
  if (lost_) lost_->check(LostKind::of_branches, prefix, snapshot, "branches");
  storage::TableCursor cursor = table_.cursor(transaction);
  for (bool on = cursor.seek(row_key(owner, snapshot, {})); on && cursor.key().starts_with(prefix); on = cursor.next()) {
    const Row row = row_at(cursor);
    if (row.since > snapshot) continue;
    // Only one of the rows that say since when they hold does hold.
    if (row.since == 0 && !saved.emplace(row.name, true).second) continue;
    visit(row.name, row.value);
  }
}

void SavedStates::each(Transaction& transaction, BytesView owners, size_t owner_bytes,
                       const std::function<void(BytesView, BytesView)>& visit) const {
  if (!table_.exists()) return;
  const Bytes prefix = Bytes(1, static_cast<char>(owner_bytes)).append(owners);
  storage::TableCursor cursor = table_.cursor(transaction);
  for (bool on = cursor.seek(prefix); on && cursor.key().starts_with(prefix); on = cursor.next()) {
    const Row row = row_at(cursor);
    visit(row.name, row.value);
  }
}

void SavedStates::keep_only_declared(storage::Store& store) const {
  if (!table_.exists()) return;
  for (Bytes from(1, '\0'); !from.empty();) {
    std::vector<Bytes> gone;
    {
      Transaction transaction(store, Transaction::Mode::read);
      // The snapshots are read now: no row that the transaction sees was saved for a later one.
      const std::vector<Stamp> snapshots = store.declared_snapshots().all();
      from = find_gone(transaction, from, snapshots, gone);
    }
    storage::in_transaction(store, [&](Transaction& transaction) {
      for (const Bytes& key : gone) table_.remove(transaction, key);
    });
  }
}

// Finds up to `batch` rows of an owner; returns where to go on, or nothing.
Bytes SavedStates::find_gone(Transaction& transaction, const Bytes& from, const std::vector<Stamp>& snapshots,
                             std::vector<Bytes>& gone) const {
  storage::TableCursor cursor = table_.cursor(transaction);
  Bytes owner;
  std::map<Bytes, Stamp> before;  // of the owner's names, in rows that don't say since when
  for (bool on = cursor.seek(from); on; on = cursor.next()) {
    const Row row = row_at(cursor);
    if (gone.size() >= batch && (row.since != 0 || row.owner != owner)) return Bytes(cursor.key());
    if (row.owner != owner) before.clear();
    owner = row.owner;
    Stamp since = row.since;
    if (since == 0) since = std::exchange(before[Bytes(row.name)], row.snapshot) + 1;
    const auto shown = std::lower_bound(snapshots.begin(), snapshots.end(), since);
    if (shown == snapshots.end() || *shown > row.snapshot) gone.emplace_back(cursor.key());
  }
  return {};
}

}  // namespace versions::past
