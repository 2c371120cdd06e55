// SavedEntries holds the index entries of contents that were overwritten and kept, beside those of the current ones.
//
//   past-entries   collection (4, BE), index (4, BE), key string, record (8, BE), generation (8, BE) -> nothing
//
// A content is kept with all its entries, so an entry holds for a snapshot if the snapshot shows the content. No update changes a
// document's key in the `_id` index: there an entry is saved with the first content of a record that is kept, under generation 0,
// and goes with the last one. What the record was then says whether it holds. Thread-safe; transactions are not.
#pragma once

#include <memory>

#include "storage/indexes/stored_index.h"

namespace versions::past {

using base::Bytes;
using base::BytesView;
using storage::CollectionId;
using storage::RecordId;
using storage::Stamp;
using storage::Transaction;

class SavedEntries {
 public:
  SavedEntries() = default;
  explicit SavedEntries(storage::Table table) : table_(std::move(table)) {}

  const storage::Table& table() const { return table_; }
  void add(Transaction& transaction, CollectionId collection, const storage::StoredIndex& index, bson::DocumentView content,
           RecordId record, Stamp generation) const;
  void remove(Transaction& transaction, CollectionId collection, const storage::StoredIndex& index, bson::DocumentView content,
              RecordId record, Stamp generation) const;

  // The indexes that have any.
  std::vector<std::pair<CollectionId, uint32_t>> indexes(storage::Engine& engine) const;
  void remove_all(Transaction& transaction, CollectionId collection, uint32_t index) const;

  // Walks over an index's entries in the order of keys and records. Borrows the transaction.
  class Cursor {
   public:
    Cursor(const SavedEntries& entries, Transaction& transaction, CollectionId collection, uint32_t index,
           storage::Direction direction);
    void seek(const storage::KeyRange& range);
    bool next();
    BytesView key() const { return at_.key; }  // valid until the cursor moves
    RecordId record() const { return at_.record; }
    Stamp generation() const { return at_.generation; }

   private:
    struct Entry {
      BytesView key;
      RecordId record = 0;
      Stamp generation = 0;
    };
    storage::TableCursor rows_;
    const Bytes prefix_;
    const bool forward_;
    Bytes from_, to_;  // a range of the table; `to_` is behind its end
    bool started_ = false;
    Entry at_;
  };

 private:
  storage::Table table_;
};

}  // namespace versions::past
