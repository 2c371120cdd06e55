// This part of BranchStore removes from history: it frees records that nothing reaches, and purges documents.
#include <unordered_set>

#include "base/varint.h"
#include "storage/engine/touch.h"
#include "versions/branch/branch_store.h"
#include "versions/branch/scans.h"

namespace versions {

RecordSet BranchStore::shown_by_any(Transaction& transaction, const std::vector<State>& states, const RecordSet& records) {
  RecordSet shown;
  records.for_each([&](RecordId record) {
    for (const State state : states) {
      if (!shows(transaction, {.state = state}, record)) continue;
      shown.add(record);
      break;
    }
  });
  return shown;
}

uint64_t BranchStore::free(Transaction& transaction, const RecordSet& records, const Lost& lost) {
  if (records.empty()) return 0;
  const Stamp write = stamp_of(transaction), shown = shown_before(write);
  // Snapshots hold the commits that branches ended at. Beside these they show what was pending.
  const RecordSet kept = shown == 0 ? RecordSet() : parts_.past->saved_additions(transaction);
  return take_away(transaction, records, lost, write,
                   [&](RecordId record) { return storage::Keep(kept.contains(record) ? shown : 0, shown); });
}

uint64_t BranchStore::take_away(Transaction& transaction, const RecordSet& records, const Lost& lost, Stamp write,
                                const std::function<storage::Keep(RecordId)>& keep) {
  uint64_t count = 0;
  records.for_each([&](RecordId record) {
    auto cursor = parts_.records.cursor(transaction);
    cursor.seek_after(record - 1);
    if (!cursor.next() || cursor.id() != record) return;  // a first state may name ids that were never used
    const Bytes content(cursor.content());
    if (lost) lost(record, cursor.generation(), content);
    save_content(transaction, record, parts_.records.remove(transaction, record, keep(record)), write);
    keys_.remove(transaction, entry_key(key_of(content), record));
    forgotten(transaction, record);
    ++count;
  });
  return count;
}

uint64_t BranchStore::purge(Transaction& transaction, BytesView key, const std::vector<BranchId>& branches, const Lost& lost) {
  // Another transaction that writes a document of this key on any branch at the same time conflicts: all members must apply the
  // two in one order, or they would differ in whether the document is there.
  for (const BranchId branch : branches) claim(transaction, branch, key);
  RecordSet versions;
  std::vector<RecordId> entries;
  each_entry(transaction, key, [&](RecordId record, BytesView value) {
    base::take_varint(value);
    if (value.empty())
      versions.add(record);
    else
      entries.push_back(record);
    return record;
  });
  if (const RecordId first = parts_.first_records ? parts_.first_records(transaction, key) : 0; first != 0) versions.add(first);
  for (const RecordId entry : entries) {
    keys_.remove(transaction, entry_key(key, entry));
    pending_.put(transaction, pending_key(BranchId::none, entry), purged_row({}));
    forgotten(transaction, entry);
  }
  versions.for_each([&](RecordId record) {
    if (content(transaction, record)) mark_purged(transaction, key, record, branches);
  });
  return take_away(transaction, versions, lost, 0, [](RecordId) { return storage::Keep(); });
}

void BranchStore::mark_purged(Transaction& transaction, BytesView key, RecordId record, const std::vector<BranchId>& branches) {
  pending_.put(transaction, pending_key(BranchId::none, record), purged_row(key));
  for (const BranchId branch : branches) {
    const Bytes row = pending_key(branch, record);
    if (const auto kind = pending_kind(transaction, branch, record); kind == PendingKind::added)
      pending_.remove(transaction, row);
    else if (!kind)
      storage::touch(transaction, pending_, row);
  }
}

void BranchStore::adopt_named(Transaction& transaction, const View& view, const Named& named, RecordSet& added,
                              RecordSet& removed) {
  const KeySet come(named.added.begin(), named.added.end());
  const KeySet go(named.removed.begin(), named.removed.end());
  std::unordered_set<Bytes> there;
  KeySet either = come;
  either.insert(go.begin(), go.end());
  each_purged_of(transaction, view.state, &either, [&](RecordId record, BytesView key) {
    if (go.contains(key)) removed.add(record);
    if (come.contains(key)) there.emplace(key);
  });
  for (const Bytes& key : named.added) {
    if (!there.insert(key).second) continue;
    const RecordId record = allocate(transaction, view.segment);
    mark_purged(transaction, key, record, {});
    added.add(record);
  }
}

void BranchStore::put_entry(Transaction& transaction, BytesView key, RecordId record, uint64_t commit) {
  Bytes value;
  base::append_varint(value, commit);
  keys_.put(transaction, entry_key(key, record), value);
}

void BranchStore::remove_entry(Transaction& transaction, BytesView key, RecordId record, bool gone,
                               const std::vector<BranchId>& branches) {
  keys_.remove(transaction, entry_key(key, record));
  if (!gone) return;
  mark_purged(transaction, key, record, branches);
  forgotten(transaction, record);
}

RecordSet BranchStore::purged_records(Transaction& transaction) {
  return pending(transaction, BranchId::none).removed;
}

bool BranchStore::purged(Transaction& transaction, RecordId record) {
  return pending_.get(transaction, pending_key(BranchId::none, record)).has_value();
}

void BranchStore::each_purged(Transaction& transaction, const std::function<void(RecordId, BytesView)>& each) {
  TableCursor cursor = pending_.cursor(transaction);
  for (bool on = cursor.seek(pending_key(BranchId::none, 0)); on && branch_of_key(cursor.key()) == BranchId::none;
       on = cursor.next()) {
    const auto row = parse_pending_row(cursor.key(), cursor.value());
    if (!row)
      throw base::OperationError(base::ErrorCode::data_corruption_detected, "a row of what is pending on branches is damaged");
    if (!row->purged.empty()) each(row->record, row->purged);
  }
}

void BranchStore::each_purged_of(Transaction& transaction, State state, const KeySet* among,
                                 const std::function<void(RecordId, BytesView)>& each) {
  each_purged(transaction, [&](RecordId record, BytesView key) {
    // Most callers ask for few of many, and what a state names takes longer to find out.
    if ((!among || among->contains(key)) && names(transaction, state, record)) each(record, key);
  });
}

BranchStore::Purged BranchStore::purged_of(Transaction& transaction, State state, const KeySet* among) {
  Purged purged;
  each_purged_of(transaction, state, among, [&](RecordId record, BytesView key) {
    purged.records.add(record);
    purged.keys.emplace_back(key);
  });
  return purged;
}

}  // namespace versions
