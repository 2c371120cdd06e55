#include "storage/background/missed_updates.h"

#include <algorithm>

#include "storage/contents/record_store_state.h"

namespace storage {

bool MissedUpdates::any(Collection& collection) {
  return collection.records().state().missed_from.load() != RecordStore::State::none_missed;
}

Stamp MissedUpdates::from(Collection& collection) const {
  return std::min(collection.records().state().missed_from.load(), in_pass(collection.id()));
}

Stamp MissedUpdates::in_pass(CollectionId collection) const {
  const auto found = in_pass_.find(collection);
  return found == in_pass_.end() ? RecordStore::State::none_missed : found->second;
}

void MissedUpdates::begin_pass(Collection& collection) {
  const Stamp taken = collection.records().state().missed_from.exchange(RecordStore::State::none_missed);
  in_pass_[collection.id()] = std::min(taken, in_pass(collection.id()));
}

}  // namespace storage
