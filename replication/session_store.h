// The session store knows which statements of which session have been run, so
// that a retried write runs once.
//
// A session's newest write is found in config.transactions, written in the
// transaction of that write; the ones before it through the log, whose entries
// name their statement and the entry before:
//
//   config.transactions    {_id: lsid, txnNum, lastWriteOpTime, lastWriteDate}
//                                                    |
//   oplog      {lsid, txnNumber, stmtId: 0} <- prev - {stmtId: 1} <- prev - {stmtId: 2}
//
// A session that is in use is kept in memory, and read back from there otherwise.
// The answer of a findAndModify is kept in config.image_collection.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <unordered_map>

#include "base/counters.h"
#include "base/mutex.h"
#include "replication/oplog.h"

namespace storage {
class Store;
}

namespace replication {

class Committer;
class SessionStore;

inline constexpr std::string_view session_records_ns = "config.transactions";
inline constexpr std::string_view session_images_ns = "config.image_collection";

// The history of one session, lent to one operation. Given back when it is destroyed; not thread-safe.
class SessionHistory {
 public:
  ~SessionHistory();
  SessionHistory(const SessionHistory&) = delete;
  SessionHistory& operator=(const SessionHistory&) = delete;

  // The entry of the statement, where it has been run. Throws IncompleteTransactionHistory when the log doesn't
  // reach back far enough to say.
  std::optional<storage::Stamp> executed(int32_t statement) const;

  // The last entry of the client's transaction that was committed under the number; nullopt: none was.
  std::optional<OpTime> committed_transaction() const;
  // The session's number has been used for retryable statements.
  bool has_statements() const;

  // A transaction with statements of this session, again after a conflict:
  //   begin, then { next, wrote } for each, then save, then commit
  void begin();
  SessionWrite next(int32_t statement, SessionWrite::Image image = SessionWrite::Image::none) const;
  void wrote(int32_t statement, OpTime optime);
  // A client's transaction:  begin, then transaction_part for each write, then ended_transaction, then save, then commit
  SessionWrite transaction_part(bool last) const;
  void ended_transaction(OpTime last);
  // The content the last statement's answer shows.
  void keep_image(storage::Transaction& transaction, SessionWrite::Image image, bson::DocumentView document);
  void save(storage::Transaction& transaction);

  // Returns the document that keep_image kept for the statement with this timestamp.
  std::optional<bson::Document> image(storage::Stamp stamp) const;

 private:
  friend class SessionStore;
  struct State;
  SessionHistory(SessionStore& store, std::shared_ptr<State> state);

  SessionStore& store_;
  const std::shared_ptr<State> state_;
  std::shared_ptr<storage::Collection> records_;
  std::shared_ptr<storage::Collection> images_;
  base::SharedHold schemas_[2];  // they stay while they are written to
  // These belong to the transaction at hand.
  OpTime last_;
  std::vector<std::pair<int32_t, storage::Stamp>> written_;
  bool ended_transaction_ = false;
};

// Thread-safe.
class SessionStore {
 public:
  SessionStore(storage::Store& store, Oplog& oplog) : store_(store), oplog_(oplog) {}

  // `session`: SessionWrite::id_bytes. Waits while another operation has it; `interrupted` is asked meanwhile and may
  // throw. Throws TransactionTooOld when a later number has been seen.
  std::unique_ptr<SessionHistory> check_out(BytesView session, int64_t txn_number, const std::function<void()>& interrupted);

  // A client's transaction begins under the number. Returns false if the number was used for anything else. Throws as check_out.
  bool begin_transaction(BytesView session, int64_t txn_number, const std::function<void()>& interrupted);
  // Returns where the client's transaction ended in the log that the session committed under the number; nullopt: it committed
  // none, or has gone on.
  std::optional<OpTime> committed_transaction(BytesView session, int64_t txn_number, const std::function<void()>& interrupted);

  // These record a statement that another member has run, in the transaction of its change: `images` and `records` are the
  // collections below. `last`: where the session's newest statement of the transaction stands in the log.
  void keep_image(storage::Transaction& transaction, storage::Collection& images, const SessionWrite& write, storage::Stamp stamp,
                  bson::DocumentView document);
  void written_elsewhere(storage::Transaction& transaction, storage::Collection& records, const SessionWrite& write, OpTime last);

  // Returns how often a session's record was written since the start.
  int64_t record_writes() const { return record_writes_.get(); }

  // Forgets sessions last written in before `wall_ms` that `alive` doesn't know any more, on all members: only a primary may.
  // Returns how many.
  int64_t expire(Committer& committer, int64_t wall_ms, const std::function<bool(BytesView session)>& alive);

 private:
  friend class SessionHistory;
  // Waits for the session's history, and loads it.
  std::unique_ptr<SessionHistory> take(BytesView session, const std::function<void()>& interrupted);
  // Does the same for a number that isn't below the session's newest, which it then is.
  std::unique_ptr<SessionHistory> advance(BytesView session, int64_t txn_number, const std::function<void()>& interrupted);
  void load(SessionHistory::State& state);
  void give_back(SessionHistory::State& state);

  storage::Store& store_;
  Oplog& oplog_;
  base::Counter record_writes_;
  base::Mutex mutex_;
  base::Condition given_back_;
  std::unordered_map<Bytes, std::shared_ptr<SessionHistory::State>> states_ GUARDED_BY(mutex_);
};

}  // namespace replication
