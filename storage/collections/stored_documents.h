// StoredDocuments are the documents of a collection that nobody shares: every record is shown, and a write changes the record
// and its index entries in place.
#pragma once

#include <atomic>

#include "storage/collections/collection.h"
#include "storage/engine/insert_turn.h"
#include "storage/indexes/index_keys.h"

namespace storage {

class StoredCollection;

class StoredDocuments final : public Documents {
 public:
  // The collection owns this object.
  explicit StoredDocuments(StoredCollection& collection) : collection_(collection) {}

  Stored insert(Transaction& transaction, bson::DocumentView document) override;
  Updated update(Transaction& transaction, RecordId id, bson::DocumentView before, bson::DocumentView after) override;
  Superseded remove(Transaction& transaction, RecordId id, bson::DocumentView before) override;
  // See StoredCollection::purge.
  void purge(Transaction& transaction, RecordId id, bson::DocumentView before);

  std::optional<RecordId> find_id(Transaction& transaction, const bson::ValueView& id) override;
  std::optional<Bytes> find_version(Transaction& transaction, const bson::ValueView& id, Stamp generation) override;
  std::unique_ptr<CollectionScan> scan(Transaction& transaction, Direction direction) override;
  std::unique_ptr<IndexCursor> scan(Transaction& transaction, const Index& index, Direction direction) override;
  int64_t record_count() const override;
  int64_t logical_bytes() const override;

 private:
  void add_entries(Transaction& transaction, RecordId record, bson::DocumentView document, KeyLimits limits);
  void remove_entries(Transaction& transaction, RecordId record, bson::DocumentView document);
  void change_entries(Transaction& transaction, RecordId record, bson::DocumentView before, bson::DocumentView after);
  std::vector<PushedOut> trim(Transaction& transaction, RecordId newest);
  Superseded take_away(Transaction& transaction, RecordId id, bson::DocumentView before, Stamp shown);
  void take_turn(Transaction& transaction);
  // Returns the newest declared snapshot that doesn't show a write with this timestamp; 0: there is none.
  Stamp shown_before(Stamp write) const;
  void save(Transaction& transaction, RecordId record, const Superseded& before, Stamp write) const;

  StoredCollection& collection_;
  std::atomic<RecordId> oldest_hint_{0};  // capped: the last trim found nothing older
  std::atomic<uint32_t> trims_{0};
  InsertTurn turn_;  // used by capped collections
};

}  // namespace storage
