// A document undergoes three kinds of change, each with all its parts: record and
// indexes, the log's entry, the dedup queue, the counters.
//
// All writes of users go through this class, so no command can forget a part.
#pragma once

#include <optional>

#include "bson/document.h"
#include "replication/committer.h"
#include "server/query/matcher.h"
#include "server/query/validator.h"
#include "storage/collections/collection.h"
#include "storage/engine/transaction.h"

namespace server {
class OperationContext;
}

namespace server::write {

class Retry;
class Target;

// Says whether the collection's validator is asked. Copies of documents that are stored already aren't checked again.
enum class Validate : uint8_t { unless_bypassed, never };

// A writer lives as long as the target's lock is held. Its changes take effect with the transaction's commit.
class DocumentWriter {
 public:
  DocumentWriter(OperationContext& op, const Target& target, Validate validate = Validate::unless_bypassed);

  // `document` must be storable (storable.h). Throws DuplicateKey, and DocumentValidationFailure with its errInfo …
  storage::RecordId insert(storage::Transaction& transaction, bson::DocumentView document);
  void update(storage::Transaction& transaction, storage::RecordId record, bson::DocumentView before, bson::DocumentView after,
              const replication::UpdateForm& form = replication::UpdateForm::smallest);
  void remove(storage::Transaction& transaction, storage::RecordId record, bson::DocumentView before);

  // Returns the bytes of contents that were inserted, updated or removed since the last call of begin.
  size_t bytes() const { return bytes_; }
  void begin() { bytes_ = 0; }

 private:
  void check_valid(bson::DocumentView document, const bson::DocumentView* before);
  bool fulfils(bson::DocumentView document) const;
  void check_claims(std::optional<storage::RecordId> record, const bson::DocumentView* document) const;
  void keep(storage::Transaction& transaction, storage::Stamp stamp, const std::optional<bson::Document>& image);

  OperationContext& op_;
  const Target& target_;
  size_t bytes_ = 0;
  Retry* const retry_;                           // nullptr: the write isn't recorded, since the log has none of the collection
  std::optional<query::Validation> validation_;  // nullopt: nothing is checked
  std::shared_ptr<const query::Matcher> rules_;
};

// Returns the present as a timestamp that no other call in this process gets.
bson::Timestamp unique_timestamp(OperationContext& op);

}  // namespace server::write
