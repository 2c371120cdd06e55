#include <algorithm>

#include "storage/indexes/stored_index.h"
#include "storage/upkeep/repair_steps.h"

namespace storage {

bool Repair::due(Transaction& transaction, const StoredIndex& index, RecordId record, BytesView key) {
  const auto content = readable(transaction, record);
  if (!content) return false;
  index.keys_of(bson::DocumentView(*content), keys_);
  return std::find(keys_.keys.begin(), keys_.keys.end(), key) != keys_.keys.end();
}

void Repair::correct_index(StoredIndex& index) {
  std::vector<std::pair<Bytes, RecordId>> extra;
  {
    Transaction transaction(engine_, Transaction::Mode::read);
    const auto cursor = index.cursor(transaction, Direction::forward);
    cursor->seek({});
    for (size_t seen = 1; cursor->next(); ++seen) {
      if (seen % batch == 0) ask();
      if (!due(transaction, index, cursor->record(), cursor->key())) extra.emplace_back(cursor->key(), cursor->record());
    }
  }
  for (const auto& [key, record] : extra) {
    ask();
    in_transaction(engine_,
                   [&, &key = key, record = record](Transaction& transaction) { remove_entry(transaction, index, key, record); });
  }
  for (const RecordId record : records()) {
    ask();
    in_transaction(engine_, [&](Transaction& transaction) { correct_entries(transaction, index, record); });
  }
}

bool Repair::of_versions(const StoredIndex& index) const {
  return index.is_id() && index.shared();
}

bool Repair::has_versions(const StoredIndex& index) const {
  return index.shared() && index.spec().unique && (!index.is_id() || index.spec().collator);
}

void Repair::remove_entry(Transaction& transaction, const StoredIndex& index, BytesView key, RecordId record) {
  if (!index.shared() || !index.spec().unique || index.find(transaction, key) == record) {
    index.remove(transaction, key, record);
  } else if (has_versions(index)) {
    index.remove_version(transaction, key, record);
  }
  if (of_versions(index)) versions_->remove(transaction, key, record, !readable(transaction, record));
  transaction.after_commit([this] { ++report.removed_keys; });
}

void Repair::correct_entries(Transaction& transaction, StoredIndex& index, RecordId record) {
  const auto content = readable(transaction, record);
  if (!content) return;
  const bson::DocumentView document(*content);
  index.keys_of(document, keys_);
  const IndexKeys keys = keys_;
  collection_.note_multikey(index, keys.multikey_fields, keys.multikey_paths);
  int64_t inserted = 0, corrected = 0;
  for (size_t i = 0; i < keys.keys.size(); ++i) {
    const Bytes& key = keys.keys[i];
    if (index.has(transaction, key, record)) {
      corrected += correct_types(transaction, index, key, record, keys.types_at(i));
      if (of_versions(index) && has_versions(index)) versions_->insert(transaction, key, record);
      continue;
    }
    if (has_versions(index) && !of_versions(index)) {
      index.add_version(transaction, key, record);
    } else if (!(of_versions(index) ? versions_->insert(transaction, key, record)
                                    : index.insert(transaction, key, record, keys.types_at(i)))) {
      move_away(transaction, record, *content);
      if (of_versions(index)) versions_->remove(transaction, key, record, true);
      return;
    }
    ++inserted;
  }
  transaction.after_commit([this, inserted, corrected] {
    report.inserted_keys += inserted;
    report.corrected_types += corrected;
  });
}

bool Repair::correct_types(Transaction& transaction, const StoredIndex& index, BytesView key, RecordId record, BytesView due) {
  const auto types = index.types(transaction, key, record);
  if (!types || *types == due) return false;
  index.retype(transaction, key, record, due);
  return true;
}

void Repair::move_away(Transaction& transaction, RecordId record, const Bytes& content) {
  take_away(record);
  make_lost_and_found();
  const bson::DocumentView document(content);
  const auto indexes = collection_.stored_indexes();
  for (const auto& index : *indexes) {
    index->keys_of(document, keys_);
    for (const Bytes& key : keys_.keys) {
      if (index->has(transaction, key, record)) index->remove(transaction, key, record);
    }
  }
  collection_.records().remove(transaction, record);
  lost_->insert(transaction, document);
  transaction.after_commit([this] { ++report.moved_documents; });
}

}  // namespace storage
