// An operation is one command being run: who asked, how long it may take, and
// whether someone asked it to stop.
//
// Long loops call check_interrupt() every few hundred documents or so; it costs
// an atomic load and, with a deadline set, a look at the clock.
//
// An operation whose command has run, and whose reply waits for other members,
// rests: no thread belongs to it, but it can still be found and killed.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <shared_mutex>
#include <string>

#include "base/error.h"
#include "base/interruptible_mutex.h"
#include "base/mutex.h"
#include "bson/document.h"
#include "replication/coordinator.h"
#include "server/core/allowance.h"
#include "server/core/client.h"
#include "server/core/progress.h"
#include "server/core/read_moment.h"

namespace server {

namespace write {
class Retry;
}

struct Request;
struct Services;
class ClientTransaction;
class TransactionHold;
class Command;
class OperationRegistry;

// The Stable API fields of the request.
struct ApiParameters {
  std::string version;  // empty if the client gave none
  bool strict = false;
  bool deprecation_errors = false;
};

// The writeConcern of the request, or the default one.
struct WriteConcern : replication::WriteConcern {
  bool given = false;  // the client gave it
  bool w_given = false;
};

// The readConcern of the request.
struct ReadConcern {
  std::string level;  // empty: none given, which is "local"
  std::optional<bson::Timestamp> after_cluster_time;
  std::optional<bson::Timestamp> at_cluster_time;

  // If true, a read shows majority-committed data alone.
  bool majority_committed() const { return level == "majority" || level == "linearizable"; }
};

class OperationContext {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // Registers itself with services.operations until it is destroyed. The request must live as long.
  OperationContext(Services& services, Client& client, const Request& request, const Command* command);
  ~OperationContext();
  OperationContext(const OperationContext&) = delete;
  OperationContext& operator=(const OperationContext&) = delete;

  int32_t id() const { return id_; }
  Services& services() const { return services_; }
  Client& client() const { return client_; }
  const Request& request() const { return request_; }
  const Command* command() const { return command_; }

  Time started() const { return started_; }
  int64_t started_wall_ms() const { return started_wall_ms_; }
  int64_t elapsed_us() const;

  // The deadline comes from maxTimeMS. Commands may set it later: a getMore inherits its cursor's.
  void set_deadline(Time deadline) { deadline_ = deadline; }
  void set_max_time_ms(int64_t ms) { deadline_ = started_ + std::chrono::milliseconds(ms); }
  std::optional<Time> deadline() const { return deadline_; }
  // Returns the time left, never negative; nullopt: there is no limit.
  std::optional<std::chrono::milliseconds> remaining() const;

  // Asks the operation to stop at its next check. Any thread may call it; the first code counts.
  void kill(base::ErrorCode code = base::ErrorCode::interrupted);
  bool killed() const { return kill_code_.load(std::memory_order_relaxed) != 0; }
  // Kills the operation if it keeps the member from stepping down.
  void kill_writer(base::ErrorCode code);
  // The command has run: what its work alone needed is let go, on the thread that ran it. From now on any thread may own the
  // operation. A kill by kill_writer is taken back, since a step-down no longer
  // waits for the operation.
  void rest();
  // Calls back once when the operation is killed, from the thread that kills it, or at once. The callback must be brief and must
  // not use the operation.
  void when_killed(std::function<void()> callback);

  // Throws Interrupted, InterruptedAtShutdown or MaxTimeMSExpired.
  void check_interrupt() const;
  // Returns check_interrupt as a function, for calls that wait or work for long. It lives as long as the operation.
  base::Interrupted interrupted() const {
    return [this] { check_interrupt(); };
  }
  // A computation calls it again and again, every few dozen microseconds. When more operations compute for long than there are
  // processors for, each rests in between, so that quick commands find a free one.
  void share_processors();
  // Computations that belong to this operation alone account for their work here.
  Allowance& allowance() const { return allowance_; }

  // Sleeps, but wakes up and throws when the operation is killed or out of time.
  void sleep(std::chrono::milliseconds duration);
  // Sleeps whatever the deadline is, but wakes up and throws when the operation is killed.
  void block(std::chrono::milliseconds duration);

  ApiParameters api;
  WriteConcern write_concern;
  ReadConcern read_concern;
  // Set for reads that must show majority-committed data: the term in which this member led when the read began.
  std::optional<int64_t> led_term;
  std::optional<ReadMoment> moment;  // reads show this moment; a cursor keeps it for its getMores
  // The session and the transaction number that the client sent; missing if it sent none.
  bson::ValueView lsid;
  std::optional<int64_t> txn_number;
  // The client sent autocommit: false: the operation is a part of a transaction of several statements.
  bool in_transaction = false;
  bool starts_transaction = false;
  // The transaction, while it is in progress; and the operation's hold on it, whatever its state.
  ClientTransaction* transaction = nullptr;
  TransactionHold* transaction_hold = nullptr;

  // Waits while writes are locked out (write_gate.h), and keeps a member of a replica set primary until the operation ends,
  // unless what is written has no history. Throws NotWritablePrimary, and what check_interrupt() throws.
  void begin_writing(bool has_history = true);
  // Set while a retryable write runs. Only this operation owns it; it is a shared_ptr, because that deletes a type that is
  // incomplete here.
  std::shared_ptr<write::Retry> retry;
  // The newest entry of the log that this operation wrote; 0: it knows of none.
  storage::Stamp last_write = 0;
  // A fail point sets it: the connection closes instead of sending the reply.
  bool close_connection = false;

  // A command that has nothing to return yet parks itself instead of blocking its thread: its reply is dropped, and it runs again
  // when `when_more` calls back, from any thread, or at `until`.
  struct Parked {
    Time until;
    std::function<void(std::function<void()> wake)> when_more;
  };
  std::optional<Parked> parked;
  // It was parked, and runs again; it may park itself until then.
  std::optional<Time> parked_until;

  bool change_stream = false;  // it reads from a change stream

  // The client allows several replies to this request (OP_MSG exhaustAllowed).
  bool exhaust_allowed = false;
  // A command sets it to run again with this body and to send one more reply.
  std::optional<bson::Document> next_invocation;

  // A slow-query line and currentOp show it beside the command.
  void set_plan_summary(std::string text);
  std::string plan_summary() const;
  // currentOp shows how far the operation is.
  void set_progress(Progress progress);
  Progress progress() const;
  struct Counts {
    int64_t keys_examined = -1;  // -1: not counted
    int64_t docs_examined = -1;
    int64_t returned = -1;
    int64_t matched = -1;
    int64_t modified = -1;
    int64_t inserted = -1;
    int64_t deleted = -1;
    int64_t cursor_id = 0;
    int64_t write_conflicts = 0;
    int64_t upserted = 0;
    int64_t yields = 0;  // how often a plan gave up its storage snapshot
    // The id of the collection that the operation looked up first; not_there: no collection has the name. -1: it looked up none.
    static constexpr int64_t not_there = 0;
    int64_t collection = -1;
    // These describe the operation's plan.
    bool scan = false;       // it scans the whole collection
    bool tailable = false;   // its cursor is tailable
    bool sort = false;       // it sorts in memory
    bool raced = false;      // it won against others
    bool replanned = false;  // it took the place of one of the plan cache
    bool exhausted = false;  // its cursor has no more
  };
  Counts counts;
  // Notes the collection that the operation looked up first.
  void looked_for(int64_t collection) {
    if (counts.collection < 0) counts.collection = collection;
  }
  // Names what the operation is doing, for the message of an error that ends it there: "PlanExecutor error during aggregation".
  // Empty: the error's own words are enough.
  std::string_view error_context;

  // The profiler sets it to see how the plan went; then the code that runs a plan leaves the stages in `execution`.
  bool explain_wanted = false;
  std::optional<bson::Document> execution;    // the stages with their figures
  std::optional<bson::Document> originating;  // of a getMore: the command that opened the cursor
  struct QueryHash {
    std::string shape, key;
  };
  std::optional<QueryHash> query_hash;

  // The schema locks that the operation holds or waits for. Its own thread writes them; any thread may read them.
  struct Locks {
    std::atomic<int32_t> reading{0}, writing{0}, waiting_to_read{0}, waiting_to_write{0};
  };
  Locks locks;

 private:
  void check_killed() const;
  void note_killed(base::ErrorCode code) REQUIRES(mutex_);
  void end_sharing();         // of processors
  void wait_until(Time end);  // or until it is killed

  OperationContext* const self_ = this;
  Services& services_;
  mutable Allowance allowance_;  // its own thread uses it
  Client& client_;
  const Request& request_;
  const Command* command_;
  int32_t id_ = 0;
  const Time started_;
  const int64_t started_wall_ms_;
  std::optional<Time> deadline_;
  std::atomic<int32_t> kill_code_{0};
  int shares_ = 0;  // calls of share_processors
  mutable base::Mutex mutex_;
  base::Condition woken_;
  std::string plan_summary_ GUARDED_BY(mutex_);
  Progress progress_ GUARDED_BY(mutex_);
  std::function<void()> when_killed_ GUARDED_BY(mutex_);
  base::SharedHold gate_;
  std::shared_lock<std::shared_mutex> primary_;
  bool holds_primary_ GUARDED_BY(mutex_) = false;
  friend class OperationRegistry;
  std::list<OperationContext*>::iterator place_;
};

// The registry knows the operations in progress. Thread-safe.
class OperationRegistry {
 public:
  // Returns false if there is no such operation any more.
  bool kill(int32_t id, base::ErrorCode code = base::ErrorCode::interrupted);
  void kill_all(base::ErrorCode code);
  // Kills the operations of one connection, when it closes.
  void kill_client(ClientId client, base::ErrorCode code);
  // Kills the operations that keep the member from stepping down.
  void kill_writers(base::ErrorCode code);
  // Kills the operations of one session (a UUID; missing: of all sessions), except operation `but`.
  void kill_sessions(bson::BytesView pattern, int32_t but);
  size_t size() const;

  // The number of operations that compute for long.
  std::atomic<int>& computing() { return computing_; }

  // The operations can't end while they are visited, so a visitor must be brief.
  void visit(const std::function<void(const OperationContext&)>& visitor) const;

  // The registry knows the connections too, busy or not. While they are visited they can't go away either.
  void add_client(const Client& client);
  void remove_client(const Client& client);
  void visit_clients(const std::function<void(const Client&)>& visitor) const;

 private:
  friend class OperationContext;
  void add(OperationContext& op);  // numbers it
  void remove(OperationContext& op);

  mutable base::Mutex mutex_;
  std::list<OperationContext*> running_ GUARDED_BY(mutex_);
  std::map<ClientId, const Client*> clients_ GUARDED_BY(mutex_);
  int32_t last_id_ GUARDED_BY(mutex_) = 0;
  std::atomic<int> computing_{0};
};

}  // namespace server
