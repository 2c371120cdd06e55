// Services are the parts of the server that commands may use; every operation
// borrows them.
//
// The assembly owns the parts and fills this in before the first connection is
// accepted. References are always set; a pointer is null only in a server that is
// assembled without that part (tests of the wire).
#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include "base/clock.h"
#include "bson/document.h"

namespace base::tls {
class Contexts;
class Stream;
}  // namespace base::tls
namespace bson {
class Builder;
}
namespace storage {
class Store;
}
namespace versions {
class Databases;
namespace past {
class Past;
}
}  // namespace versions
namespace replication {
class Committer;
class Coordinator;
class LogFeed;
class Oplog;
class SessionStore;
}  // namespace replication

namespace server {

namespace query {
class CursorRegistry;
class IndexFilters;
class PlanCache;
}  // namespace query
namespace users {
class Logins;
}
namespace peers {
class BackupHost;
class Members;
struct MemberLogin;
}  // namespace peers

struct Options;
class Audit;
class CollectionUsage;
class CommandRegistry;
class DefaultConcerns;
class FailPoints;
class MemoryPool;
class Metrics;
class OperationContext;
class OperationRegistry;
class Profiler;
class ServerParameters;
class SessionRegistry;
class StatusSections;
class Topology;
class TransactionRegistry;
class WriteGate;

struct Services {
  const Options& options;
  base::Clock& clock;
  ServerParameters& parameters;
  StatusSections& status;  // the sections of serverStatus
  Metrics& metrics;
  OperationRegistry& operations;
  CommandRegistry& commands;
  Topology& topology;
  SessionRegistry& sessions;
  FailPoints& fail_points;
  CollectionUsage& usage;
  Profiler& profiler;
  query::IndexFilters& index_filters;
  query::PlanCache& plan_cache;
  MemoryPool& memory;                               // what operations and connections may keep, besides the cache
  const int64_t started_us = clock.monotonic_us();  // the process began, by the clock's monotonic time

  users::Logins* logins = nullptr;                   // null in a server that is assembled without it (tests)
  Audit* audit = nullptr;                            // null without --auditDestination
  base::tls::Contexts* tls = nullptr;                // null without --tlsMode
  const base::tls::Contexts* member_tls = nullptr;   // for connections to other members; null: they are plain
  const peers::MemberLogin* member_login = nullptr;  // null: members don't log in to each other

  std::atomic<bool> redacts_log{false};  // the log shows no values of fields

  storage::Store* store = nullptr;
  versions::Databases* databases = nullptr;  // the databases that have branches
  versions::past::Past* past = nullptr;      // declared snapshots and their contents
  query::CursorRegistry* cursors = nullptr;
  WriteGate* write_gate = nullptr;
  replication::Committer* committer = nullptr;  // every write of a user goes through it
  replication::Oplog* oplog = nullptr;
  replication::Coordinator* replica_set = nullptr;     // also null on a standalone server
  replication::LogFeed* log_feed = nullptr;            // also null on a standalone server
  replication::SessionStore* session_store = nullptr;  // also null on a standalone server
  TransactionRegistry* transactions = nullptr;         // also null on a standalone server
  peers::BackupHost* backups = nullptr;                // also null on a standalone server
  peers::Members* members = nullptr;                   // the other members' states; also null on a standalone server
  DefaultConcerns* default_concerns = nullptr;         // also null on a standalone server

  // Calls back, from any thread, once a power loss would keep everything that was committed before the call. The connection waits
  // for it before it answers a write that asked for j: true; no thread waits meanwhile.
  std::function<void(std::function<void()> done)> when_durable = {};

  // A client gave up a session ({id: UUID}; the empty document: all of them): closes the cursors that were opened under it.
  std::function<void(bson::BytesView pattern)> sessions_ended = {};

  // Updates config.system.sessions, and forgets sessions that ended, now instead of in a few minutes.
  std::function<void()> refresh_sessions = {};

  // Takes over a connection that begins as consensus connections of members do (replication/consensus/frame.h): the open socket,
  // its TLS, which is null for a plain one, and the bytes read from it so far. It is called on an I/O thread, and returns at
  // once. If it is empty, such a connection is closed.
  std::function<void(int descriptor, std::unique_ptr<base::tls::Stream> tls, base::Bytes already_read)> peer_connection = {};

  // Appends initialSyncStatus while this member copies another one's data. Empty without a replica set.
  std::function<void(bson::Builder& out)> append_initial_sync = {};

  // Returns what this member's full disk holds up, for replSetGetStatus' infoMessage; an empty text if it holds up nothing. Empty
  // without a replica set.
  std::function<std::string()> waits_for_disk_space = {};

  // Asks the process to end, and returns at once.
  std::function<void(int exit_code)> request_shutdown = {};

  // Asks the process to shut down in order and to start again in place, with the same arguments, as the same process; returns at
  // once.
  std::function<void(const std::string& why)> restart = {};
};

}  // namespace server
