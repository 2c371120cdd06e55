#include "versions/database/unique_keys.h"

#include <algorithm>

namespace versions {

using storage::StoredIndex;
using storage::StoredIndexes;

bool kept_by_store(const StoredIndex& index) {
  return index.is_id() && !index.spec().collator;
}

StoredIndexes unique_indexes(const storage::StoredCollection& base) {
  StoredIndexes unique;
  const auto indexes = base.stored_indexes();
  for (const auto& index : *indexes) {
    if (index->spec().unique && !kept_by_store(*index)) unique.push_back(index);
  }
  return unique;
}

StoredIndexes prepared_indexes(const storage::StoredCollection& base) {
  StoredIndexes prepared;
  const auto indexes = base.stored_indexes();
  std::copy_if(indexes->begin(), indexes->end(), std::back_inserter(prepared),
               [](const auto& index) { return index->prepares_unique() && !index->spec().unique; });
  return prepared;
}

void each_rival(Transaction& transaction, BranchStore& store, const View& view, const StoredIndex& index, BytesView key,
                RecordId record, const std::function<bool(RecordId)>& each) {
  index.each_version(transaction, key,
                     [&](RecordId other) { return other == record || !store.shows(transaction, view, other) || each(other); });
}

void check_unique(Transaction& transaction, SharedCollection& shared, const StoredIndex& index, const NamedView& view,
                  const std::function<void()>& interrupted) {
  const auto entries = index.cursor(transaction, storage::Direction::forward);
  entries->seek({});
  Bytes last;  // the key of the last entry that the view shows; empty: there was none, since no key is empty
  while (entries->next()) {
    if (interrupted) interrupted();
    if (!shared.store.shows(transaction, view.view, entries->record())) continue;
    if (entries->key() == last) {
      const auto content = shared.store.content(transaction, entries->record());
      index.duplicate(view.ns, content ? bson::DocumentView(*content) : bson::DocumentView(), last);
    }
    last = entries->key();
  }
}

void check_unique_beside(Transaction& transaction, SharedCollection& shared, const StoredIndexes& indexes, const NamedView& view,
                         const View& other, const std::function<void()>& interrupted) {
  if (indexes.empty()) return;
  const auto come = shared.store.scan_set(transaction, shared.store.diff(transaction, other, view.view).only_b);
  while (come->next()) {
    if (interrupted) interrupted();
    const bson::DocumentView document(come->content());
    for (const auto& index : indexes) {
      storage::IndexKeys keys;
      index->keys_of(document, keys);
      for (const Bytes& key : keys.keys) {
        each_rival(transaction, shared.store, view.view, *index, key, come->record(),
                   [&](RecordId) -> bool { index->duplicate(view.ns, document, key); });
      }
    }
  }
}

}  // namespace versions
