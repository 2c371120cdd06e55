// A client's transaction consists of the statements that the client sent under one transaction number, up to commitTransaction or
// abortTransaction.
//
//   statement ──> draft: a storage transaction that is never committed     reads see one state, and the transaction's own writes
//             └─> changes: a list                                          the commit replays them (write/commit.h)
//
// The draft conflicts with other writers from the first write on, but has no timestamps, and no entries in the log: however long
// the client thinks, nobody waits for it, and snapshots and branches see the changes at once when they are committed.
#pragma once

#include <chrono>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/interruptible_mutex.h"
#include "bson/document.h"
#include "replication/committer.h"
#include "server/core/client.h"
#include "server/core/memory.h"
#include "server/core/read_moment.h"
#include "storage/collections/catalog.h"
#include "storage/engine/transaction.h"

namespace server {

class OperationContext;
struct Services;

// The transaction can't go on and is aborted; a client may run the whole of it again. This is no OperationError: a write command
// must not make it one of its writeErrors.
class TransientTransactionError final : public std::exception {
 public:
  TransientTransactionError(base::ErrorCode code, std::string message) : code_(code), message_(std::move(message)) {}
  base::ErrorCode code() const { return code_; }
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  base::ErrorCode code_;
  std::string message_;
};

// It serves one operation at a time (transaction_registry.h).
class ClientTransaction {
 public:
  // Begins the draft: it reads what is committed now, or the operation's moment. `session` is the session's key.
  ClientTransaction(OperationContext& op, bson::BytesView session, int64_t number);
  ~ClientTransaction();  // rolls the draft back
  ClientTransaction(const ClientTransaction&) = delete;
  ClientTransaction& operator=(const ClientTransaction&) = delete;

  bson::BytesView session() const { return session_; }
  int64_t number() const { return number_; }
  // The primary's term in which it began; it can't be committed in another.
  int64_t term() const { return term_; }
  const std::optional<ReadMoment>& moment() const { return moment_; }

  // A collection that the transaction uses. Its schema stays as it is until the transaction ends.
  struct Use {
    std::string ns;
    std::shared_ptr<storage::Collection> collection;
    base::SharedHold schema;
    // The transaction creates the collection, with these options and indexes: `collection` is a stand-in, which nobody else sees.
    bool creates_collection = false;
    storage::CollectionOptions options;
    std::vector<storage::IndexSpec> indexes;
  };

  // A change is a write that the commit replays.
  struct Change {
    enum class Kind : uint8_t { insert, update, remove };
    Kind kind;
    const Use* use;
    storage::RecordId record = 0;   // in the draft; an insert's is the new one
    storage::RecordId becomes = 0;  // an update's record afterwards
    storage::Stamp generation = 0;  // what the record held before; a draft's own timestamp if the transaction wrote it
    bson::Document document;        // the new one; of a removed one {_id}
    replication::UpdateForm form = {};
  };

  // The draft. Cursors of the transaction share it; after the transaction's end it can only be destroyed.
  const std::shared_ptr<storage::Transaction>& draft() const { return draft_; }

  // Opens the collection and holds its schema lock until the end; nullptr: there is none. Throws TransientTransactionError:
  // LockTimeout if the schema is being changed, SnapshotUnavailable if indexes are newer than what the draft sees.
  Use* open(OperationContext& op, const std::string& ns);
  // Creates the collection with the commit; until then it is this transaction's alone.
  Use& create(OperationContext& op, const std::string& ns, const storage::CollectionOptions& options);
  // Creates indexes of a collection that the transaction creates, and that has no documents yet. Throws
  // OperationNotSupportedInTransaction for others, unless they have the indexes.
  storage::CreateIndexesResult create_indexes(OperationContext& op, Use& use, const std::vector<storage::IndexSpec>& specs);

  // Each makes the write in the draft, and lists it. Throws what the collection throws, and TransactionTooLargeForCache.
  storage::RecordId insert(const Use& use, bson::DocumentView document);
  void update(const Use& use, storage::RecordId record, bson::DocumentView before, bson::DocumentView after,
              const replication::UpdateForm& form);
  void remove(const Use& use, storage::RecordId record, bson::DocumentView before);

  const std::vector<Change>& changes() const { return changes_; }
  std::map<std::string, Use, std::less<>>& uses() { return uses_; }

  // Rolls the draft back. The changes stay listed.
  void end_draft();
  // Lets the collections' schemas go, and removes the stand-ins.
  void let_go();

  // currentOp shows these fields, and the limit on the lifetime looks at the start.
  struct Life {
    int64_t started_ms = 0;     // wall time
    int64_t started_us = 0;     // monotonic
    int64_t busy_since_us = 0;  // 0: no statement is running
    int64_t busy_us = 0;        // without the running statement
    std::string read_level;
    bson::Document client;  // of the last statement, as append_client (client_view.h) describes it
    ClientId client_id{0};
    bson::Document lsid;
  };
  Life life;                   // guarded by the registry
  uint64_t counted_bytes = 0;  // likewise: the draft's bytes in the registry's sum

 private:
  void check_claims(const Use& use, std::optional<storage::RecordId> record, const bson::DocumentView* document) const;
  storage::Stamp generation_of(const Use& use, storage::RecordId record, storage::Stamp superseded) const;
  void list(Change change);
  base::SharedHold hold_schema(OperationContext& op, const std::string& ns, base::InterruptibleMutex& mutex) const;

  Services& services_;
  const bson::Bytes session_;
  const int64_t number_;
  const int64_t term_;
  const std::optional<ReadMoment> moment_;
  base::SharedHold draft_hold_;
  std::shared_ptr<storage::Transaction> draft_;
  std::map<std::string, Use, std::less<>> uses_;
  MemoryBudget memory_;
  Held held_{memory_};  // the changes
  std::vector<Change> changes_;
};

// Stand-ins have names that begin so. Removes those that a killed process left behind.
inline constexpr std::string_view stand_in_prefix = "local.system.transaction.";
void drop_stand_ins(storage::Catalog& catalog);

}  // namespace server
