#include <algorithm>

#include "base/error.h"
#include "storage/contents/content_reader.h"
#include "storage/contents/contents.h"
#include "storage/contents/record_store_state.h"
#include "storage/indexes/stored_index.h"
#include "storage/upkeep/damaged_documents.h"
#include "storage/upkeep/mended_table.h"
#include "storage/upkeep/repair_steps.h"

namespace storage {

void Repair::mend_tables() {
  std::vector<std::string> names = store_table_names(collection_.id()), damaged;
  std::set<std::string> ids;
  for (const auto& index : *collection_.stored_indexes()) {
    names.push_back(index->table().name());
    if (index->is_id()) ids.insert(names.back());
  }
  if (versions_) {
    names.push_back(versions_->trees_table());
    if (const std::string states = versions_->states_table(); !states.empty()) names.push_back(states);
    names.push_back(versions_->entries_table());
    ids.insert(names.back());
  }
  bool salvaged = false;
  for (const std::string& name : names) {
    ask();
    const auto kept = mend(name);
    if (!kept) continue;
    damaged.push_back(name);
    const bool of_rows = name == tables_.records.name() || name == tables_.packed.name();
    const bool of_chains = name == tables_.chains.name();
    rows_lost_ |= of_rows;
    report.took_away |= of_rows || of_chains;
    ids_lost_ |= ids.contains(name);
    chains_older_ |= kept->salvaged && of_chains;
    salvaged |= kept->salvaged && of_rows;
  }
  if (damaged.empty()) return;
  drop_doubles(std::find(damaged.begin(), damaged.end(), tables_.records.name()) == damaged.end());
  if (salvaged) drop_older(damaged);
  ids_lost_ |= ids.empty();
}

std::optional<Tables::Kept> Repair::mend(const std::string& table, const Tables::Fill& fill) {
  auto kept = mend_table(engine_, table, interrupted_, fill);
  if (!kept) return kept;
  collection_.contents().unreadable_ranges.forget();
  ++report.rewritten_tables;
  report.warnings.push_back(text_of(table, *kept));
  return kept;
}

void Repair::drop_older(const std::vector<std::string>& damaged) {
  const auto is_sound = [&](const Table& table) {
    return std::find(damaged.begin(), damaged.end(), table.name()) == damaged.end();
  };
  std::set<RecordId> older;
  if (is_sound(tables_.chains)) find_older_by_chains(older);
  for (const auto& index : *collection_.stored_indexes()) {
    if (index->is_id() && !index->shared() && is_sound(index->table())) find_older_by_ids(*index, older);
  }
  if (older.empty()) return;
  make_lost_and_found();
  for (const RecordId record : older) {
    ask();
    in_transaction(
        engine_, [&](Transaction& transaction) { set_aside(transaction, record, "it is older than the last that was written"); });
  }
  warn(static_cast<int64_t>(older.size()), "Removed {} documents that were older than the last ones that were written.");
}

// A content that is whole in its record's row isn't in a chain, and none of the chains' contents is newer than the record's.
void Repair::find_older_by_chains(std::set<RecordId>& older) {
  Transaction transaction(engine_, Transaction::Mode::read);
  const auto look_at = [&](const ContentName& content, bool in_chains, bool dead) {
    const auto place = find_sound_row(tables_, transaction, content.record);
    if (!place || place->row.generation > content.generation) return;
    const bool whole = place->row.form == RecordRow::Form::raw;
    if (place->row.generation < content.generation || (in_chains && (whole || dead))) older.insert(content.record);
  };
  TableCursor rows = tables_.chains.cursor(transaction);
  for (size_t seen = 1; rows.next(); ++seen) {
    if (seen % batch == 0) ask();
    const auto key = parse_chain_key(rows.key());
    const auto row = key ? parse_chain_row(rows.value(), key.value()) : base::Result<ChainRow>(key.failure());
    if (!row) continue;
    look_at(key.value().content, true, row.value().dead);
    if (row.value().form == ChainRow::Form::delta) look_at(row.value().base.content, false, false);
  }
}

// A document that is gone isn't in the index.
void Repair::find_older_by_ids(const StoredIndex& index, std::set<RecordId>& older) {
  for (const RecordId record : records()) {
    ask();
    Transaction transaction(engine_, Transaction::Mode::read);
    const auto content = readable(transaction, record);
    if (!content) continue;
    index.keys_of(bson::DocumentView(*content), keys_);
    if (std::none_of(keys_.keys.begin(), keys_.keys.end(), [&](const Bytes& key) { return index.has(transaction, key, record); }))
      older.insert(record);
  }
}

void Repair::set_aside(Transaction& transaction, RecordId record, const char* why) {
  std::vector<std::pair<std::string, Bytes>> parts;
  if (const auto content = readable(transaction, record)) parts.emplace_back("document", content->substr(0, lost_bytes_max));
  take_away(record);
  const Bytes key = record_key(record);
  for (const Table* table : {&tables_.records, &tables_.packed}) table->remove(transaction, key);
  keep(transaction, record, why, parts);
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
