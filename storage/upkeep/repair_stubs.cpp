#include <set>

#include "storage/contents/contents.h"
#include "storage/upkeep/repair_steps.h"

namespace storage {

// A row of a chain that isn't marked dead is what a record's stub leads to, so it says what the stub was. It is believed where
// the index on `_id` has the record, or has lost entries itself.
void Repair::restore_stubs() {
  const bool any = rows_lost_ && ids_lost_;
  if ((unreadable_.empty() && !any) || chains_older_) return;
  std::set<RecordId> lost;
  for (const DamagedDocument& document : unreadable_) lost.insert(document.record);
  std::vector<ChainKey> contents;
  {
    Transaction transaction(engine_, Transaction::Mode::read);
    TableCursor rows = tables_.chains.cursor(transaction);
    for (size_t seen = 1; rows.next(); ++seen) {
      if (seen % batch == 0) ask();
      const auto key = parse_chain_key(rows.key());
      if (!key || (!any && !lost.contains(key.value().content.record))) continue;
      const auto row = parse_chain_row(rows.value(), key.value());
      if (row && !row.value().dead) contents.push_back(key.value());
    }
  }
  for (const ChainKey& key : contents) {
    ask();
    in_transaction(engine_, [&](Transaction& transaction) { restore_stub(transaction, key); });
  }
}

void Repair::restore_stub(Transaction& transaction, const ChainKey& key) {
  const auto& [record, generation] = key.content;
  if (find_sound_row(tables_, transaction, record)) return;
  ContentReader reader(tables_, transaction, chains_.collection());
  if (!reader.read(key)) return;  // what it is based on may come back from the log
  const RowPast past{{}, has_kept_contents(transaction, record)};
  table_of(transaction, record).put(transaction, record_key(record), stub_row(record, generation, key.chain, past));
  transaction.after_commit([this, record = record, generation = generation] {
    ++report.restored_stubs;
    warn_of_row(record, generation);
  });
}

}  // namespace storage
