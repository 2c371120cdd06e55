// An operation is one command being run: who asked, how long it may take, and
// whether someone asked it to stop.
//
// Long loops call check_interrupt() every few hundred documents or so; it costs
// an atomic load and, with a deadline set, a look at the clock.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "base/error.h"
#include "bson/document.h"
#include "replication/coordinator.h"
#include "server/core/client.h"
#include "server/core/progress.h"
#include "server/core/read_moment.h"

namespace server {

namespace write {
class Retry;
}

struct Request;
struct Services;
class Command;
class OperationRegistry;

// The Stable API fields of the request.
struct ApiParameters {
  std::string version;  // empty: none given
  bool strict = false;
  bool deprecation_errors = false;
};

// The writeConcern of the request, or the default one.
struct WriteConcern : replication::WriteConcern {
  bool given = false;  // by the client
  bool w_given = false;
};

// The readConcern of the request.
struct ReadConcern {
  std::string level;  // empty: none given, which is "local"
  std::optional<bson::Timestamp> after_cluster_time;
  std::optional<bson::Timestamp> at_cluster_time;

  // Shows nothing but what the majority has.
  bool agreed() const { return level == "majority" || level == "linearizable"; }
};

class OperationContext {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // Registers itself with services.operations until it is destroyed. The
  // request must live as long.
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
  int64_t elapsed_us() const;

  // From maxTimeMS. Commands may set it later (getMore inherits its cursor's).
  void set_deadline(Time deadline) { deadline_ = deadline; }
  void set_max_time_ms(int64_t ms) { deadline_ = started_ + std::chrono::milliseconds(ms); }
  std::optional<Time> deadline() const { return deadline_; }
  // Time left; nullopt: no limit; never negative.
  std::optional<std::chrono::milliseconds> remaining() const;

  // Asks it to stop at its next check; safe from any thread. The first code wins.
  void kill(base::ErrorCode code = base::ErrorCode::interrupted);
  bool killed() const { return kill_code_.load(std::memory_order_relaxed) != 0; }

  // Throws Interrupted, InterruptedAtShutdown or MaxTimeMSExpired.
  void check_interrupt() const;

  // Sleeps, but wakes up and throws when killed or out of time.
  void sleep(std::chrono::milliseconds duration);
  // Sleeps whatever the deadline, but wakes up and throws when killed.
  void block(std::chrono::milliseconds duration);

  ApiParameters api;
  WriteConcern write_concern;
  ReadConcern read_concern;
  // Where what is read has to be the majority's: this member led, in that term, when the read began.
  std::optional<int64_t> led_term;
  std::optional<ReadMoment> moment;  // what is read is as of it; a cursor's, with its getMores
  // The session and transaction number the client sent; missing when none.
  bson::ValueView lsid;
  std::optional<int64_t> txn_number;

  // On a replica set: keeps the member primary until the operation ends. Throws NotWritablePrimary.
  void hold_primary();
  // Set while a retryable write runs. Only this operation owns it; a shared_ptr, because that deletes a type that is
  // incomplete here.
  std::shared_ptr<write::Retry> retry;
  // The newest entry of the log that this operation wrote; 0: none known.
  storage::Stamp last_write = 0;
  // Drop the connection instead of answering (a fail point).
  bool close_connection = false;

  // The client allows several replies to this request (OP_MSG exhaustAllowed).
  bool exhaust_allowed = false;
  // Set by a command: run again with this body and send one more reply.
  std::optional<bson::Document> next_invocation;

  // What a slow-query line and currentOp say beside the command.
  void set_plan_summary(std::string text);
  std::string plan_summary() const;
  // How far it is, for currentOp.
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
    int64_t yields = 0;  // how often a plan let its snapshot go
    // The id of the collection it looked for first; not_there: there is none of the name. -1: it looked for none.
    static constexpr int64_t not_there = 0;
    int64_t collection = -1;
    // Of its plan.
    bool scan = false;      // of the whole collection
    bool tailable = false;  // which may go on later
    bool sort = false;      // in memory
  };
  Counts counts;
  // Notes where it looked first.
  void looked_for(int64_t collection) {
    if (counts.collection < 0) counts.collection = collection;
  }
  // The profiler may want to see how its plan went; then who runs a plan leaves it here.
  bool explain_wanted = false;
  std::optional<bson::Document> execution;    // the stages with their figures
  std::optional<bson::Document> originating;  // getMore: the command that opened the cursor
  struct QueryHash {
    std::string shape, key;
  };
  std::optional<QueryHash> query_hash;

  // The schema locks it holds or waits for. Written by its own thread, read by any.
  struct Locks {
    std::atomic<int32_t> reading{0}, writing{0}, waiting_to_read{0}, waiting_to_write{0};
  };
  Locks locks;

 private:
  void check_killed() const;
  void wait_until(Time end);  // or until it is killed

  Services& services_;
  Client& client_;
  const Request& request_;
  const Command* command_;
  int32_t id_ = 0;
  const Time started_;
  std::optional<Time> deadline_;
  std::atomic<int32_t> kill_code_{0};
  mutable std::mutex mutex_;
  std::condition_variable woken_;
  std::string plan_summary_;
  Progress progress_;
  std::shared_lock<std::shared_mutex> primary_;
  std::atomic<bool> holds_primary_{false};
  friend class OperationRegistry;
  std::list<OperationContext*>::iterator place_;
};

// The operations in progress. Thread-safe.
class OperationRegistry {
 public:
  // False: no such operation (any more).
  bool kill(int32_t id, base::ErrorCode code = base::ErrorCode::interrupted);
  void kill_all(base::ErrorCode code);
  // Of one connection, when it goes away.
  void kill_client(ClientId client, base::ErrorCode code);
  // Those that keep the member from stepping down.
  void kill_writers(base::ErrorCode code);
  // Of one session (a UUID; missing: of all sessions), but not operation `but`.
  void kill_session(const bson::ValueView& session_id, int32_t but);
  size_t size() const;

  // The operations can't end while they are visited: be brief.
  void visit(const std::function<void(const OperationContext&)>& visitor) const;

  // The connections they come from, busy or not; likewise.
  void add_client(const Client& client);
  void remove_client(const Client& client);
  void visit_clients(const std::function<void(const Client&)>& visitor) const;

 private:
  friend class OperationContext;
  void add(OperationContext& op);  // numbers it
  void remove(OperationContext& op);

  mutable std::mutex mutex_;
  std::list<OperationContext*> running_;
  std::map<ClientId, const Client*> clients_;
  int32_t last_id_ = 0;
};

}  // namespace server
