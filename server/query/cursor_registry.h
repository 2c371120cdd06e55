// Cursors outlive their command: a client gets a batch, and asks for the next with getMore.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "bson/builder.h"
#include "bson/document.h"
#include "server/access/authority.h"
#include "server/core/progress.h"
#include "server/core/read_moment.h"
#include "server/query/recent_snapshots.h"

namespace server {
class OperationContext;
}

namespace server::query {

// A source returns one document after another, across operations: a Reader behind find, a pipeline behind aggregate, a list
// behind listCollections.
class CursorSource {
 public:
  virtual ~CursorSource() = default;
  // An operation takes the source up with begin, and releases it with end: no lock is held between operations. A list of what a
  // branch had at one moment keeps its read transaction.
  virtual void begin(OperationContext& op) = 0;
  virtual void end() = 0;
  virtual bool next() = 0;
  virtual bson::DocumentView document() = 0;  // valid until next() or end()
  // Returns true if it is known to have no more documents, so that the cursor need not be kept.
  virtual bool exhausted() const { return false; }
  // Counts what was examined so far, for logs and currentOp.
  struct Examined {
    int64_t keys = 0;
    int64_t documents = 0;
  };
  virtual std::optional<Examined> examined() const { return std::nullopt; }
  // A source that can tell when it may have more returns a function that calls back once then, from any thread, or when the
  // source ends; it may outlive the source. Others return nothing, and are asked again and again.
  virtual std::function<void(std::function<void()> wake)> when_more() { return nullptr; }
  // Returns true if there will never be more, even for a cursor that waits for more.
  virtual bool closed() const { return false; }
  // A change stream returns the token by which it can be resumed after everything that was read; others return nothing.
  virtual std::optional<bson::Document> resume_token() const { return std::nullopt; }
  // Records in the operation that reads from it how its plan went (plan_notes.h).
  virtual void note_execution(OperationContext&) const {}
};

struct Cursor {
  int64_t id = 0;  // 0: not registered
  std::string ns;
  std::unique_ptr<CursorSource> source;
  std::optional<bson::Document> stashed;               // it was read, but didn't fit into the last batch
  std::shared_ptr<const bson::Document> command = {};  // the command that made it, for currentOp
  bson::Document lsid;                                 // empty: no session
  access::AuthorityPtr owner;                          // who made it; nullptr: nobody was logged in
  std::optional<int64_t> txn_number;                   // it belongs to this transaction of the session, and ends with it
  bson::Document api;  // apiVersion, apiStrict and apiDeprecationErrors, as that command gave them
  bool tailable = false;
  bool await_data = false;
  bool no_timeout = false;
  // A change stream's postBatchResumeToken.
  std::optional<bson::Document> resume_token;
  // The time left of the maxTimeMS that find gave; getMores share it.
  std::optional<std::chrono::microseconds> time_left;
  std::optional<ReadMoment> moment;  // reads show this moment
  bool majority_committed = false;   // readConcern majority, or stronger, holds for every batch
  std::string plan_summary;
  Progress progress;  // after the last batch
  int64_t documents_returned = 0, batches_returned = 0;
  CursorSource::Examined reported;  // what earlier operations have reported
};

// Thread-safe. A cursor is in the registry or checked out by one operation. A cursor in a client's transaction reads from a
// storage transaction that serves one thread at a time; so it is destroyed by whoever works in the transaction, or ends it.
class CursorRegistry {
 public:
  explicit CursorRegistry(base::Clock& clock) : clock_(clock) {}

  static constexpr size_t cursors_max = 50'000;

  RecentSnapshots snapshots;  // the storage snapshots that cursors and sessions read from

  // The parameter cursorTimeoutMillis.
  std::atomic<int64_t> timeout_ms{600'000};

  // Gives it an id (positive, not guessable) and keeps it. Throws if there are too many.
  int64_t add(std::unique_ptr<Cursor> cursor);

  // Takes a cursor out for a getMore. Throws CursorNotFound (43), Unauthorized (13) for another namespace, 50736 … 50738 for
  // another session, APIMismatchError (347) for another API version, CursorInUse (143).
  std::unique_ptr<Cursor> check_out(int64_t id, std::string_view ns, OperationContext& op);
  // Puts it back. Returns false if it was killed meanwhile; then it is destroyed. `parked`: its getMore waits for documents
  // without a thread, and takes it again; until then no other getMore can have it, and it doesn't time out.
  bool check_in(std::unique_ptr<Cursor> cursor, bool parked = false);
  // The parked getMore won't take the cursor again.
  void unpark(int64_t id);
  // Reports that a checked out cursor came to its end.
  void finish(int64_t id);

  struct Killed {
    bool found = false;
    int32_t operation = 0;  // the operation that has it checked out; it must be interrupted too
  };
  // A cursor in use is destroyed as soon as its operation ends. A cursor of another namespace isn't found. Throws Unauthorized
  // for another user's cursor, unless `op` may kill any.
  Killed kill(int64_t id, std::string_view ns, const OperationContext& op);
  // Kills the cursors of the sessions that the pattern fits (server/core/session_registry.h).
  void kill_sessions(bson::BytesView pattern);
  // Closes the cursors of a client's transaction. The caller has the transaction, and nobody else works in it.
  void end_transaction(bson::BytesView session, int64_t txn_number);

  // Drops cursors that nobody used for timeout_ms; returns how many. Call it every few seconds.
  size_t expire();

  // A cursor as currentOp shows it, with its command as append_shown does.
  struct Shown {
    int64_t id = 0;
    int32_t operation = 0;  // that reads from it; 0: none
    std::string ns;
    bson::Document command;
    bson::Document lsid;  // empty: no session
    std::string plan_summary;
    Progress progress;
    int64_t created_ms = 0, used_ms = 0;
    int64_t documents_returned = 0, batches_returned = 0;  // before the operation
    bool tailable = false, await_data = false, no_timeout = false;
    access::AuthorityPtr owner;
  };
  // Shows those that an operation reads from, or the others.
  std::vector<Shown> show(bool in_use, bool whole_commands) const;

  struct Counts {
    int64_t open = 0;
    int64_t pinned = 0;
    int64_t no_timeout = 0;
    int64_t timed_out = 0;  // in total
    int64_t opened = 0;     // in total
    int64_t read_on = 0;    // in total, by getMore
    // Counts destroyed cursors by how long they lived: less than 1, 5, 15, 30 s, 1, 10 min, or longer.
    std::array<int64_t, 7> lives{};
  };
  Counts counts() const;

 private:
  struct Slot {
    std::string ns;
    std::unique_ptr<Cursor> cursor;  // nullptr: checked out
    std::shared_ptr<const bson::Document> command = {};
    int64_t documents_returned = 0, batches_returned = 0;
    bool tailable = false, await_data = false;
    int32_t operation = 0;  // the operation that has it
    int64_t created_ms = 0;
    int64_t used_ms = 0;
    bool no_timeout = false;
    bool killed = false;
    bool parked = false;
    bool read_on = false;
    bson::Document lsid;
    access::AuthorityPtr owner;
  };
  using Slots = std::map<int64_t, Slot>;
  Slots::iterator erase(Slots::iterator slot) REQUIRES(mutex_);
  static void put(Slot& slot, std::unique_ptr<Cursor> cursor);
  using Dead = std::vector<std::unique_ptr<Cursor>>;
  // Takes the cursor out of its slot, for the caller to destroy without the lock.
  void bury(std::unique_ptr<Cursor> cursor, Dead& dead) REQUIRES(mutex_);
  base::Clock& clock_;
  mutable base::Mutex mutex_;
  Slots slots_ GUARDED_BY(mutex_);
  Dead dead_in_transactions_ GUARDED_BY(mutex_);
  Counts counts_ GUARDED_BY(mutex_);
};

// Reads documents from `cursor`, which an operation has taken up, into an array: at most `documents_max` (negative: as many as
// fit) and 16 MB; a document that doesn't fit is stashed. Returns false if there are no more. Throws BSONObjectTooLarge (10334)
// for a document that no reply can hold.
bool fill_batch(OperationContext& op, Cursor& cursor, int64_t documents_max, bson::ArrayBuilder& batch);

// Appends postBatchResumeToken to a reply's cursor, if it is a change stream's.
void append_resume_token(const Cursor& cursor, bson::Builder& out);

// Counts the current batch in `op`.
void count_batch(OperationContext& op, Cursor& cursor, size_t returned);

// Makes the reply of every command that opens a cursor (find, aggregate, listCollections, listIndexes): reads the first batch
// from the source, which `op` has begun, appends {cursor: {firstBatch, id, ns}}, and registers the cursor if there may be more.
// `error_context`: what an error says that ends the reading (OperationContext::error_context).
void reply_first_batch(OperationContext& op, CursorRegistry& registry, std::unique_ptr<Cursor> cursor, int64_t documents_max,
                       bool single_batch, bson::Builder& reply, std::string_view error_context = {});

}  // namespace server::query
