// The registry knows each session's newest transaction of several statements: whether it is in progress, and how it ended.
//
//   startTransaction ──> in progress ──> committed
//                             └────────> aborted      by its client, an error, its age, the end of its session, a step-down
//
// One operation at a time works in a session's transaction; others of the session wait for it.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/counters.h"
#include "base/mutex.h"
#include "server/core/client_transaction.h"
#include "server/core/write_claims.h"

namespace server {

class Metrics;
class OperationContext;
class TransactionRegistry;
struct SessionTransactions;

enum class TransactionState { none, in_progress, committed, aborted };

// An operation works in a session's transaction as long as it has a hold. It serves one thread.
class TransactionHold {
 public:
  TransactionHold(TransactionRegistry& registry, std::shared_ptr<SessionTransactions> session);
  ~TransactionHold();
  TransactionHold(const TransactionHold&) = delete;
  TransactionHold& operator=(const TransactionHold&) = delete;

  TransactionState state() const;
  ClientTransaction* transaction() const;  // nullptr: it isn't in progress
  // These end a transaction that is in progress: `committed` when its changes are made.
  void committed();
  void abort();

 private:
  TransactionRegistry& registry_;
  const std::shared_ptr<SessionTransactions> session_;
};

// Thread-safe.
class TransactionRegistry {
 public:
  // `close_cursors` closes the cursors that were opened in a transaction, before its draft ends.
  using CloseCursors = std::function<void(bson::BytesView session, int64_t number)>;
  TransactionRegistry(base::Clock& clock, Metrics& metrics, CloseCursors close_cursors);
  ~TransactionRegistry();

  // The parameters transactionLifetimeLimitSeconds and maxTransactionLockRequestTimeoutMillis (negative: without limit).
  std::atomic<int64_t> lifetime_seconds{60};
  std::atomic<int64_t> lock_timeout_ms{5};
  // All drafts together may have so many bytes in the cache, since the engine can't evict any of them.
  std::atomic<uint64_t> drafts_bytes_max{UINT64_MAX};

  WriteClaims claims;  // of the transactions that commit

  // Begins a transaction. An older one of the session that is in progress is aborted. Throws TransactionTooOld (225) if the
  // session has gone on, and ConflictingOperationInProgress (117) if the number was used.
  std::unique_ptr<TransactionHold> start(OperationContext& op, bson::BytesView session, int64_t number);
  // Goes on with one, or finds how it ended. Throws NoSuchTransaction (251) if the number is above that of the session's newest
  // transaction, and TransactionTooOld (225) if it is below.
  std::unique_ptr<TransactionHold> resume(OperationContext& op, bson::BytesView session, int64_t number);
  // Returns whether the session has had a transaction of this number, or a later one, since the server started.
  bool knows(bson::BytesView session, int64_t number) const;
  // The session uses the number for something else: a transaction in progress that is older is aborted. Throws InvalidOptions
  // (72) if the number is that of a transaction.
  void passed(OperationContext& op, bson::BytesView session, int64_t number);

  // Aborts what is in progress. The operations that work in transactions are killed with `code`, and abort them themselves.
  void abort_all(base::ErrorCode code);
  // Forgets the sessions that the pattern fits (session_registry.h); their transactions are aborted.
  void forget(bson::BytesView pattern, base::ErrorCode code);
  // Aborts transactions that are older than the limit.
  void expire();

  // Called after each write of a draft: with more in all drafts than the cache is good for, the oldest idle transactions are
  // aborted, and if there are none, throws TransactionTooLargeForCache (388).
  void check_size(ClientTransaction& writing);

  struct Counts {
    int64_t open = 0, active = 0, inactive = 0;
    int64_t started = 0, committed = 0, aborted = 0;  // in total
    int64_t last_operations = 0;                      // of the one that was committed last
  };
  Counts counts() const;

  // The transactions in progress. They can't end while they are visited, so a visitor must be brief.
  struct View {
    const ClientTransaction& transaction;
    const ClientTransaction::Life& life;
    int64_t now_us = 0;
    int32_t operation = 0;  // the operation that works in it; 0: it is idle
  };
  void visit(const std::function<void(const View&)>& visitor) const;

 private:
  friend class TransactionHold;
  using Entry = SessionTransactions;
  using State = TransactionState;

  std::shared_ptr<Entry> check_out(OperationContext& op, bson::BytesView session);
  void give_back(Entry& entry);
  // Takes the transaction out of an entry that the caller has; the caller destroys what it returns, without the lock.
  std::unique_ptr<ClientTransaction> end(Entry& entry, State how);
  void count_end(Entry& entry, State how) REQUIRES(mutex_);  // the caller takes the transaction out of the entry
  void destroy(std::unique_ptr<ClientTransaction> transaction);
  void abort_idle(const std::function<bool(const Entry& entry)>& which, base::ErrorCode code);

  base::Clock& clock_;
  const CloseCursors close_cursors_;
  mutable base::Mutex mutex_;
  base::Condition given_back_;
  std::map<bson::Bytes, std::shared_ptr<Entry>, std::less<>> entries_ GUARDED_BY(mutex_);
  std::set<Entry*> open_ GUARDED_BY(mutex_);  // those with a transaction in progress
  uint64_t drafts_bytes_ GUARDED_BY(mutex_) = 0;
  Metrics& metrics_;
  base::Counter started_, committed_, aborted_;
  int64_t last_operations_ GUARDED_BY(mutex_) = 0;
};

}  // namespace server
