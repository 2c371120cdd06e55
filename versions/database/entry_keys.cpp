#include "versions/database/entry_keys.h"

#include "storage/engine/interruptible_waits.h"

namespace versions {

std::string entries_table_of(const BranchStore& store) {
  return store.table_names().front();
}

std::unordered_map<RecordId, std::vector<Bytes>> entry_keys(Transaction& transaction, const BranchStore& store,
                                                            const RecordSet& records) {
  std::unordered_map<RecordId, std::vector<Bytes>> keys;
  if (records.empty()) return keys;
  const storage::Table table(entries_table_of(store));
  TableCursor entries = table.cursor(transaction);
  storage::InterruptibleLoop loop;
  while (entries.next()) {
    loop.pass();
    const BytesView entry = entries.key();
    if (entry.size() < sizeof(RecordId)) continue;
    const size_t key_bytes = entry.size() - sizeof(RecordId);
    const auto record = static_cast<RecordId>(base::load_be64(entry.data() + key_bytes));
    if (records.contains(record)) keys[record].emplace_back(entry.substr(0, key_bytes));
  }
  return keys;
}

}  // namespace versions
