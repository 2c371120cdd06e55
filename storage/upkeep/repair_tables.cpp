#include <algorithm>

#include "base/error.h"
#include "storage/contents/contents.h"
#include "storage/contents/record_store_state.h"
#include "storage/engine/internals.h"
#include "storage/engine/readable_rows.h"
#include "storage/indexes/stored_index.h"
#include "storage/upkeep/damaged_documents.h"
#include "storage/upkeep/repair_steps.h"

namespace storage {

using base::ErrorCode;

bool Repair::sound(const std::string& table) {
  Tables& tables = engine_.internals().tables;
  bool busy = false;
  std::string problem = tables.verify(table, busy, interrupted_);
  if (busy) {
    engine_.checkpoint();
    problem = tables.verify(table, busy, interrupted_);
  }
  return busy ? can_be_read(engine_, Table(table)) : problem.empty();
}

void Repair::mend_tables() {
  std::vector<std::string> names = store_table_names(collection_.id()), damaged;
  for (const auto& index : *collection_.stored_indexes()) names.push_back(index->table().name());
  for (const std::string& name : names) {
    ask();
    if (!sound(name)) damaged.push_back(name);
  }
  if (damaged.empty()) return;
  if (engine_.options().replicated)
    throw base::OperationError(ErrorCode::data_corruption_detected,
                               "files of this member are damaged (" + damaged.front() +
                                   ".wt and others); empty its directory, so that it copies the data of another member");
  unreadable_ = damaged_documents(engine_, collection_, SIZE_MAX, interrupted_);
  for (const std::string& name : damaged) {
    const Tables::Kept kept = engine_.internals().tables.keep_readable(engine_, name);
    collection_.contents().unreadable_ranges.forget();
    ++report.rewritten_tables;
    report.warnings.push_back(
        "Table " + name + " was damaged; " + std::to_string(kept.rows) + " rows could be kept." +
        (kept.from_journal > 0 ? " The journal had " + std::to_string(kept.from_journal) + " of them." : "") +
        (kept.salvaged ? " They are what WiredTiger found in the file, so some may be older than the last that "
                         "were written."
                       : ""));
  }
  drop_doubles(std::find(damaged.begin(), damaged.end(), tables_.records.name()) == damaged.end());
}

void Repair::drop_doubles(bool records_sound) {
  std::vector<Bytes> doubles;
  {
    Transaction transaction(engine_, Transaction::Mode::read);
    size_t seen = 0;
    TableCursor packed = tables_.packed.cursor(transaction);
    while (packed.next()) {
      if (++seen % batch == 0) ask();
      if (tables_.records.get(transaction, packed.key())) doubles.emplace_back(packed.key());
    }
  }
  const auto generation = [](BytesView row, RecordId record) {
    const auto parsed = parse_record_row(row, record);
    return parsed ? std::optional(parsed.value().generation) : std::nullopt;
  };
  for (const Bytes& key : doubles) {
    in_transaction(engine_, [&](Transaction& transaction) {
      const RecordId record = record_from_key(key);
      const Bytes in_records(tables_.records.get(transaction, key).value_or(BytesView()));
      const Bytes in_packed(tables_.packed.get(transaction, key).value_or(BytesView()));
      const auto one = generation(in_records, record), other = generation(in_packed, record);
      const bool keep_record = one == other ? records_sound : one > other;
      (keep_record ? tables_.packed : tables_.records).remove(transaction, key);
    });
    ++report.corrected_chains;
  }
}

}  // namespace storage
