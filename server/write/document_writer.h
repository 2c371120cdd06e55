// The three changes a document can undergo, each with all that belongs to it:
// record and indexes, the log's entry, the dedup queue, the counters.
//
// Everything users write goes through here, so nothing can be forgotten by one
// command and done by another.
#pragma once

#include <optional>

#include "bson/document.h"
#include "storage/collections/collection.h"
#include "storage/engine/transaction.h"

namespace server {
class OperationContext;
}

namespace server::write {

class Target;

// Lives as long as the target's lock is held. What it does becomes true with the transaction's commit.
class DocumentWriter {
 public:
  DocumentWriter(OperationContext& op, const Target& target) : op_(op), target_(target) {}

  // `document` is storable (storable.h). Throws DuplicateKey …
  storage::RecordId insert(storage::Transaction& transaction, bson::DocumentView document);
  // `replacement`: the log keeps the document as a whole, not what changed in it.
  void update(storage::Transaction& transaction, storage::RecordId record, bson::DocumentView before, bson::DocumentView after,
              bool replacement = false);
  void remove(storage::Transaction& transaction, storage::RecordId record, bson::DocumentView before);

  // Of the contents inserted or left by updates, since the last call of begin.
  size_t bytes() const { return bytes_; }
  void begin() { bytes_ = 0; }

 private:
  void keep(storage::Transaction& transaction, storage::Stamp stamp, const std::optional<bson::Document>& image);

  OperationContext& op_;
  const Target& target_;
  size_t bytes_ = 0;
};

// Now, as a timestamp no other call in this process gets.
bson::Timestamp unique_timestamp(OperationContext& op);

}  // namespace server::write
