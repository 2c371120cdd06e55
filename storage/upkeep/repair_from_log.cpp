#include <algorithm>

#include "base/hash.h"
#include "base/log.h"
#include "bson/keystring.h"
#include "storage/contents/declared_snapshots.h"
#include "storage/store.h"
#include "storage/upkeep/entry_log.h"
#include "storage/upkeep/repair_steps.h"

namespace storage {

void Repair::restore_from_log() {
  if (!log_ || unreadable_.empty()) return;
  const auto logged = log_->find(collection_, unreadable_, interrupted_);
  std::vector<std::pair<Stamp, const DamagedDocument*>> to_restore;
  for (const DamagedDocument& document : unreadable_) {
    const auto found = logged.find(document.record);
    if (found == logged.end()) {
      why_not_[document.record] = "its _id isn't known, so the log can't be searched for it";
    } else if (found->second.generation == 0) {
      why_not_[document.record] = found->second.why_not;
    } else {
      to_restore.emplace_back(found->second.generation, &document);
    }
  }
  std::sort(to_restore.begin(), to_restore.end());
  for (const auto& [generation, document] : to_restore) {
    ask();
    restore_from_log(*document, generation);
  }
}

void Repair::restore_from_log(const DamagedDocument& document, Stamp generation) {
  const RecordId record = document.record;
  const auto content = log_->content(record, interrupted_);
  if (!content) {
    why_not_[record] = content.failure().message;
    return;
  }
  if (!holds(content.value()) || !is_of(content.value(), document)) {
    why_not_[record] = "the log's entries of it don't make a document of that _id";
    return;
  }
  bool older = false, other = false, row_lost = false;
  const bool made = in_transaction(engine_, [&](Transaction& transaction) {
    if (readable(transaction, record)) return false;
    // If the row is there, it says what the newest content is.
    const auto place = find_sound_row(tables_, transaction, record);
    row_lost = !place;
    older = place && place->row.generation != generation;
    if (older) return false;
    const auto checksum = place ? checksum_of(transaction, record, place->row) : std::nullopt;
    other = checksum && *checksum != base::checksum32(content.value());
    if (other) return false;
    const RecordId chain = place && place->row.form == RecordRow::Form::stub ? place->row.chain : record;
    make_whole(transaction, {{chain, {record, generation}}, std::nullopt, false, false, 0}, content.value());
    return true;
  });
  if (other) why_not_[record] = "what the log has of it isn't what its record's checksum is of";
  if (older) why_not_[record] = "the log has another content of it than its record had";
  if (!made) return;
  ++report.restored_contents;
  report.restored.push_back(name_of(document));
  report.warnings.push_back("Restored from the log: " + report.restored.back() + ", as of " + text_of(generation));
  if (row_lost) warn_of_row(record, generation);
  base::log(base::Severity::warning, base::LogComponent::storage, log_restored, "A lost document was restored from the log",
            base::Attributes().add("ns", collection_.ns()).add("document", report.restored.back()));
}

std::optional<uint32_t> Repair::checksum_of(Transaction& transaction, RecordId record, const RecordRow& row) {
  if (row.form == RecordRow::Form::raw) return row.checksum;
  const ChainKey key{row.chain, {record, row.generation}};
  const auto bytes = tables_.chains.get(transaction, chain_key(key));
  if (!bytes) return std::nullopt;
  const auto parsed = parse_chain_row(*bytes, key);
  return parsed ? std::optional(parsed.value().checksum) : std::nullopt;
}

bool Repair::is_of(BytesView content, const DamagedDocument& document) const {
  const bson::DocumentView made(content);
  if (document.id.empty()) {
    if (document.key.empty()) return true;  // the log was searched for the record alone
    for (const auto& index : *collection_.stored_indexes()) {
      if (!index->is_id()) continue;
      IndexKeys keys;
      index->keys_of(made, keys);
      return keys.keys.size() == 1 && keys.keys.front() == document.key;
    }
    return false;
  }
  bson::KeyString one, other;
  one.append(static_cast<bson::ValueView>(made.find("_id")));
  other.append(static_cast<bson::ValueView>(document.id.view().find("_id")));
  return one.bytes() == other.bytes();
}

}  // namespace storage
