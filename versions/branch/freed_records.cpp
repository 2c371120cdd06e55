// What of a BranchStore goes from history: records that nothing reaches, and documents that are to be forgotten.
#include "base/varint.h"
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
  uint64_t count = 0;
  records.for_each([&](RecordId record) {
    auto cursor = parts_.records.cursor(transaction);
    cursor.seek_after(record - 1);
    if (!cursor.next() || cursor.id() != record) return;  // a first state may name ids that were never used
    const Bytes content(cursor.content());
    if (lost) lost(record, cursor.generation(), content);
    parts_.records.remove(transaction, record);
    keys_.remove(transaction, entry_key(key_of(content), record));
    forgotten(transaction, record);
    ++count;
  });
  return count;
}

uint64_t BranchStore::purge(Transaction& transaction, BytesView key, const std::vector<BranchId>& branches, const Lost& lost) {
  RecordSet versions;
  std::vector<RecordId> entries;
  each_entry(transaction, key, [&](RecordId record, BytesView value) {
    base::take_varint(value);
    if (value.empty()) versions.add(record);
    else entries.push_back(record);
    return record;
  });
  if (const RecordId first = parts_.first_records ? parts_.first_records(transaction, key) : 0; first != 0) versions.add(first);
  for (const RecordId entry : entries) {
    keys_.remove(transaction, entry_key(key, entry));
    pending_.put(transaction, pending_key(BranchId::none, entry), "\x03");
    forgotten(transaction, entry);
  }
  versions.for_each([&](RecordId record) {
    const auto content = this->content(transaction, record);
    if (!content) return;
    // Before the first branch there is no such number: rows of no branch are what digests still count.
    Bytes hash(1, '\x03');
    hash += write_digest(digest_of(key, *content));
    pending_.put(transaction, pending_key(BranchId::none, record), hash);
    for (const BranchId branch : branches) {
      if (pending_kind(transaction, branch, record) == PendingKind::added) pending_.remove(transaction, pending_key(branch, record));
    }
  });
  return free(transaction, versions, lost);
}

RecordSet BranchStore::purged_records(Transaction& transaction) { return pending(transaction, BranchId::none).removed; }

std::optional<SetDigest> BranchStore::purged(Transaction& transaction, RecordId record) {
  const auto row = pending_.get(transaction, pending_key(BranchId::none, record));
  if (!row || row->size() != 33) return std::nullopt;
  return read_digest(row->substr(1));
}

}  // namespace versions
