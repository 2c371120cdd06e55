#include <algorithm>

#include "base/error.h"
#include "storage/contents/contents.h"
#include "storage/contents/declared_snapshots.h"
#include "storage/contents/pre_states.h"
#include "storage/store.h"
#include "storage/upkeep/repair_steps.h"

namespace storage {

using base::ErrorCode;

struct Repair::PreStatesRead {
  size_t bytes = 0;           // of the list
  size_t readable_bytes = 0;  // the pre-states in the list's first bytes can be read
};

void Repair::drop_damaged_pre_states() {
  for (const Table* table : {&tables_.records, &tables_.packed, &tables_.chains}) {
    std::vector<std::pair<Bytes, size_t>> damaged;
    {
      Transaction transaction(engine_, Transaction::Mode::read);
      size_t seen = 0;
      TableCursor cursor = table->cursor(transaction);
      while (cursor.next()) {
        if (++seen % batch == 0) ask();
        const PreStatesRead read = read_pre_states(transaction, *table, cursor.key(), cursor.value());
        if (read.readable_bytes < read.bytes) damaged.emplace_back(cursor.key(), read.readable_bytes);
      }
    }
    for (const auto& [key, readable_bytes] : damaged) {
      in_transaction(engine_, [&, &key = key, readable_bytes = readable_bytes](Transaction& transaction) {
        drop_pre_states(transaction, *table, key, readable_bytes);
      });
      ++report.corrected_chains;
    }
  }
}

Repair::PreStatesRead Repair::read_pre_states(Transaction& transaction, const Table& table, BytesView key, BytesView value) {
  if (&table == &tables_.chains) {
    const auto name = parse_chain_key(key);
    const auto row = name ? parse_chain_row(value, name.value()) : base::Result<ChainRow>(name.failure());
    if (!row || row.value().pre_states.empty()) return {};
    const ContentName& content = name.value().content;
    return read_pre_states(content.record, row.value().pre_states, content.generation, row.value().payload);
  }
  const RecordId record = record_from_key(key);
  const auto row = parse_record_row(value, record);
  if (!row || row.value().past.pre_states.empty()) return {};
  const Bytes list(row.value().past.pre_states);  // a copy, since the read of a stub's content overwrites it
  try {
    const Bytes own = chains_.content_of(transaction, record, row.value());
    return read_pre_states(record, list, row.value().generation, own);
  } catch (const base::OperationError& damage) {
    if (damage.code() != ErrorCode::data_corruption_detected) throw;
    return {list.size(), 0};
  }
}

Repair::PreStatesRead Repair::read_pre_states(RecordId record, BytesView list, Stamp above, BytesView own) {
  PreStatesRead read{list.size(), 0};
  try {
    Bytes content;
    for (PreStateWalk walk(list, above); walk.next(); read.readable_bytes = walk.at().end)
      chains_.pre_state(record, list, above, own, walk.at().generation, content);
  } catch (const base::OperationError& damage) {
    if (damage.code() != ErrorCode::data_corruption_detected) throw;
  }
  return read;
}

void Repair::drop_pre_states(Transaction& transaction, const Table& table, const Bytes& key, size_t readable_bytes) {
  const auto bytes = table.get(transaction, key);
  if (!bytes) return;
  const Bytes copy(*bytes);
  make_lost_and_found();
  RecordId record = 0;
  if (&table == &tables_.chains) {
    const ChainKey name = parse_chain_key(key).or_throw();
    record = name.content.record;
    ChainRow row = parse_chain_row(copy, name).or_throw();
    row.pre_states = row.pre_states.substr(0, readable_bytes);
    table.put(transaction, key, chain_row(name, row));
  } else {
    record = record_from_key(key);
    const RecordRow row = parse_record_row(copy, record).or_throw();
    const RowPast past{row.past.pre_states.substr(0, readable_bytes), row.past.behind};
    table.put(transaction, key,
              row.form == RecordRow::Form::raw ? raw_row(row.generation, row.checksum, row.content, past)
                                               : stub_row(record, row.generation, row.chain, past));
  }
  keep(transaction, record, "what the past keeps of it can't be read", {{"row", copy.substr(0, lost_bytes_max)}});
  report.took_away = true;
  transaction.after_commit([this, record, all = readable_bytes == 0] { warn_of_past(record, all); });
}

void Repair::warn_of_past(RecordId record, bool all) {
  report.warnings.push_back(std::string("Lost: ") + (all ? "older" : "the oldest") + " contents of record " +
                            std::to_string(record) + " that only snapshots show; those snapshots now show nothing of it");
}

void Repair::keep_ids_of_lost() {
  PreStates* const keeper = collection_.contents().pre_states;
  if (!keeper) return;
  std::set<RecordId> lost = taken_away_;
  for (const DamagedDocument& document : unreadable_) lost.insert(document.record);
  for (const RecordId record : lost) {
    ask();
    try {
      in_transaction(engine_, [&](Transaction& transaction) {
        if (!find_sound_row(tables_, transaction, record)) keeper->lose(transaction, collection_, record);
      });
    } catch (const base::OperationError& damage) {
      if (damage.code() != ErrorCode::data_corruption_detected) throw;
      report.warnings.push_back("Lost: what snapshots show of record " + std::to_string(record) + ", if anything; " +
                                damage.what());
    }
  }
}

void Repair::warn_of_row(RecordId record, Stamp generation) {
  if (store_.declared_snapshots().newest_before(generation) == 0) return;
  const auto document = std::lower_bound(unreadable_.begin(), unreadable_.end(), record,
                                         [](const DamagedDocument& one, RecordId other) { return one.record < other; });
  const bool named = document != unreadable_.end() && document->record == record;
  report.warnings.push_back("Lost: older contents of " + (named ? name_of(*document) : "record " + std::to_string(record)) +
                            " that only snapshots show and that its row had, if there were any");
}

}  // namespace storage
