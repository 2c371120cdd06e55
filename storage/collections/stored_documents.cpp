#include "storage/collections/stored_documents.h"

#include "base/error.h"
#include "bson/builder.h"
#include "bson/keystring.h"
#include "storage/collections/stored_collection.h"
#include "storage/contents/contents.h"
#include "storage/contents/pre_states.h"
#include "storage/engine/or_undo.h"
#include "storage/engine/session.h"

namespace storage {

void StoredDocuments::take_turn(Transaction& transaction) {
  if (!turn_.take(transaction)) return;
  const auto give_back = [this, held = collection_.shared_from_this()] { turn_.give_back(); };
  transaction.after_commit(give_back);
  transaction.after_rollback(give_back);
}

Stored StoredDocuments::insert(Transaction& transaction, bson::DocumentView document) {
  const auto bytes = static_cast<int64_t>(document.size());
  collection_.require_room(bytes, document.size());
  const bool decides = !transaction.replays();
  if (collection_.options().capped && decides) take_turn(transaction);
  const Stamp stamp = collection_.take_stamp(transaction);
  const RecordId record = collection_.records().insert(transaction, document.bytes(), stamp);
  or_undo([&] { add_entries(transaction, record, document, KeyLimits::of_write(!decides)); },
          [&] { collection_.records().remove(transaction, record); });
  collection_.written(transaction, record, {}, {.records = 1, .bytes = bytes, .stamp = stamp}, document);
  return {record, stamp, collection_.options().capped && decides ? trim(transaction, record) : std::vector<PushedOut>()};
}

Updated StoredDocuments::update(Transaction& transaction, RecordId id, bson::DocumentView before, bson::DocumentView after) {
  const int64_t more_bytes = static_cast<int64_t>(after.size()) - static_cast<int64_t>(before.size());
  collection_.require_room(more_bytes, after.size());
  change_entries(transaction, id, before, after);
  const Stamp stamp = collection_.take_stamp(transaction);
  Superseded superseded = collection_.records().update(transaction, id, after.bytes(), stamp, shown_before(stamp));
  save(transaction, id, superseded, stamp);
  collection_.written(transaction, id, superseded, {.bytes = more_bytes, .stamp = stamp}, after);
  return {id, stamp, std::move(superseded)};
}

Superseded StoredDocuments::remove(Transaction& transaction, RecordId id, bson::DocumentView before) {
  collection_.require_room(-static_cast<int64_t>(before.size()));
  const Stamp stamp = collection_.logged() ? transaction.write_stamp() : 0;
  Superseded superseded = take_away(transaction, id, before, shown_before(stamp));
  save(transaction, id, superseded, stamp);
  return superseded;
}

void StoredDocuments::purge(Transaction& transaction, RecordId id, bson::DocumentView before) {
  collection_.require_room(-static_cast<int64_t>(before.size()));
  take_away(transaction, id, before, 0);
}

Superseded StoredDocuments::take_away(Transaction& transaction, RecordId id, bson::DocumentView before, Stamp shown) {
  remove_entries(transaction, id, before);
  Superseded superseded = collection_.records().remove(transaction, id, shown);
  collection_.written(transaction, id, superseded, {.records = -1, .bytes = -static_cast<int64_t>(before.size())}, {});
  return superseded;
}

Stamp StoredDocuments::shown_before(Stamp write) const {
  return collection_.logged() && !is_draft(write) ? collection_.contents().snapshots.newest_before(write) : 0;
}

void StoredDocuments::save(Transaction& transaction, RecordId record, const Superseded& before, Stamp write) const {
  if (!before.changes_past()) [[likely]]
    return;
  PreStates* const keeper = collection_.contents().pre_states;
  base::check(keeper != nullptr, "who declares snapshots keeps what they show");
  keeper->save(transaction, collection_, record, before, write);
}

std::optional<RecordId> StoredDocuments::find_id(Transaction& transaction, const bson::ValueView& id) {
  const auto indexes = collection_.stored_indexes();
  if (indexes->empty() || !indexes->front()->is_id()) return std::nullopt;
  bson::KeyString key;
  key.append(id, false, indexes->front()->spec().collator.get());
  return indexes->front()->find(transaction, key.bytes());
}

std::optional<Bytes> StoredDocuments::find_version(Transaction& transaction, const bson::ValueView& id, Stamp generation) {
  const auto record = find_id(transaction, id);
  return record ? collection_.records().find(transaction, *record, generation) : std::nullopt;
}

std::unique_ptr<CollectionScan> StoredDocuments::scan(Transaction& transaction, Direction direction) {
  return make_collection_scan(collection_.shared_from_this(), transaction, direction);
}

std::unique_ptr<IndexCursor> StoredDocuments::scan(Transaction& transaction, const Index& index, Direction direction) {
  return static_cast<const StoredIndex&>(index).cursor(transaction, direction);
}

int64_t StoredDocuments::record_count() const {
  return collection_.stored_records();
}

int64_t StoredDocuments::logical_bytes() const {
  return collection_.stored_bytes();
}

void StoredDocuments::add_entries(Transaction& transaction, RecordId record, bson::DocumentView document, KeyLimits limits) {
  const auto indexes = collection_.stored_indexes();
  IndexKeys keys;
  size_t done = 0;
  const auto add = [&] {
    for (; done < indexes->size(); ++done) {
      StoredIndex& index = *(*indexes)[done];
      index.keys_of(document, keys, limits);
      collection_.index_document(transaction, index, record, document, keys);
    }
  };
  or_undo(add, [&] {
    for (size_t i = 0; i < done; ++i) {
      (*indexes)[i]->keys_of(document, keys);
      for (const Bytes& key : keys.keys) (*indexes)[i]->remove(transaction, key, record);
    }
  });
}

void StoredDocuments::remove_entries(Transaction& transaction, RecordId record, bson::DocumentView document) {
  IndexKeys keys;
  const auto indexes = collection_.stored_indexes();
  for (const auto& index : *indexes) {
    index->keys_of(document, keys);
    for (const Bytes& key : keys.keys) index->remove(transaction, key, record);
  }
}

// This call touches only entries that differ.
void StoredDocuments::change_entries(Transaction& transaction, RecordId record, bson::DocumentView before,
                                     bson::DocumentView after) {
  std::vector<std::pair<StoredIndex*, EntryChanges>> changes;
  IndexKeys old_keys, new_keys;
  const KeyLimits limits = KeyLimits::of_write(transaction.replays());
  const auto indexes = collection_.stored_indexes();
  for (const auto& index : *indexes) {
    index->keys_of(before, old_keys);
    index->keys_of(after, new_keys, limits.or_as(old_keys));
    if (old_keys.keys == new_keys.keys && old_keys.types == new_keys.types) {
      collection_.note_multikey(*index, new_keys.multikey_fields, new_keys.multikey_paths);
      continue;
    }
    changes.emplace_back(index.get(), entry_changes(old_keys, new_keys));
  }
  const auto retype = [&](const StoredIndex& index, const IndexKeys& keys) {
    for (size_t i = 0; i < keys.keys.size(); ++i) index.retype(transaction, keys.keys[i], record, keys.types_at(i));
  };
  size_t done = 0;
  const auto change_all = [&] {
    for (; done < changes.size(); ++done) {
      auto& [index, change] = changes[done];
      for (const Bytes& key : change.gone.keys) index->remove(transaction, key, record);
      retype(*index, change.are);
      collection_.index_document(transaction, *index, record, after, change.come);
    }
  };
  or_undo(change_all, [&] {
    for (size_t i = 0; i <= done && i < changes.size(); ++i) {
      auto& [index, change] = changes[i];
      // The failing index has removed its new keys itself.
      if (i < done) {
        for (const Bytes& key : change.come.keys) index->remove(transaction, key, record);
      }
      retype(*index, change.were);
      for (size_t j = 0; j < change.gone.keys.size(); ++j)
        index->insert(transaction, change.gone.keys[j], record, change.gone.types_at(j));
    }
  });
}

// Removes the oldest documents until the newest has room; the newest stays, however large it is.
std::vector<PushedOut> StoredDocuments::trim(Transaction& transaction, RecordId newest) {
  const CountChanges& mine = transaction.session().counts;
  int64_t records = collection_.stored_records() + mine.records(collection_.id());
  int64_t bytes = collection_.stored_bytes() + mine.bytes(collection_.id());
  const auto full = [&] {
    return bytes > collection_.options().capped_bytes ||
           (collection_.options().capped_records > 0 && records > collection_.options().capped_records);
  };
  std::vector<PushedOut> oldest;
  if (!full()) return oldest;
  // Stepping over the removed ones again and again would be slow, so a scan starts at the hint. But an insert that committed
  // late may lie below the hint, so one trim in 256 starts at the beginning.
  const RecordId start = trims_.fetch_add(1) % 256 == 0 ? 0 : oldest_hint_.load();
  {
    RecordCursor cursor = collection_.records().cursor(transaction);
    if (start > 0) cursor.seek_after(start - 1);
    while (full() && cursor.next() && cursor.id() != newest) {
      oldest.push_back({cursor.id(), bson::Document(Bytes(cursor.content()))});
      records -= 1;
      bytes -= static_cast<int64_t>(oldest.back().document.size());
    }
  }
  if (oldest.empty()) return oldest;
  for (const PushedOut& one : oldest) remove(transaction, one.record, one.document);
  transaction.after_commit(
      [this, held = collection_.shared_from_this(), hint = oldest.back().record + 1] { oldest_hint_.store(hint); });
  return oldest;
}

}  // namespace storage
