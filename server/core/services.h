// What commands may use: the parts of the server, lent to every operation.
//
// The assembly owns the parts and fills this in before the first connection is
// accepted. References are always there; a pointer is null only in a server
// assembled without that part (tests of the wire).
#pragma once

#include <functional>

#include "bson/document.h"

namespace base {
class Clock;
}
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
class Oplog;
class SessionStore;
}  // namespace replication

namespace server {

namespace query {
class CursorRegistry;
class IndexFilters;
}  // namespace query
namespace peers {
class BackupHost;
class Members;
}  // namespace peers

struct Options;
class CollectionUsage;
class CommandRegistry;
class DefaultConcerns;
class FailPoints;
class Metrics;
class OperationContext;
class OperationRegistry;
class Profiler;
class ServerParameters;
class SessionRegistry;
class StatusSections;
class Topology;

struct Services {
  const Options& options;
  base::Clock& clock;
  ServerParameters& parameters;
  StatusSections& status;  // serverStatus
  Metrics& metrics;
  OperationRegistry& operations;
  CommandRegistry& commands;
  Topology& topology;
  SessionRegistry& sessions;
  FailPoints& fail_points;
  CollectionUsage& usage;
  Profiler& profiler;
  query::IndexFilters& index_filters;

  storage::Store* store = nullptr;
  versions::Databases* databases = nullptr;  // those that have branches
  versions::past::Past* past = nullptr;      // declared snapshots, and what they show
  query::CursorRegistry* cursors = nullptr;
  replication::Committer* committer = nullptr;  // through which every user's write goes
  replication::Oplog* oplog = nullptr;
  replication::Coordinator* replica_set = nullptr;     // null too on a standalone server
  replication::SessionStore* session_store = nullptr;  // likewise
  peers::BackupHost* backups = nullptr;                // likewise
  peers::Members* members = nullptr;                   // likewise: how the others are
  DefaultConcerns* default_concerns = nullptr;         // likewise

  // Calls back, from any thread, once everything committed before the call
  // would survive a power loss. The connection awaits it before it answers a
  // write that asked for j: true; no thread waits meanwhile.
  std::function<void(std::function<void()> done)> when_durable = {};

  // A client gave up a session ({id: UUID}; the empty document: all of them):
  // closes what was opened under it.
  std::function<void(bson::DocumentView lsid)> session_ended = {};

  // Brings config.system.sessions up to date, and forgets what ended: now instead of in a few minutes.
  std::function<void()> refresh_sessions = {};

  // Takes over a connection that begins as members' consensus does (replication/consensus/frame.h): the open socket and the bytes
  // read from it so far. Called on an I/O thread: returns at once. Absent: such a connection is closed.
  std::function<void(int descriptor, base::Bytes already_read)> peer_connection = {};

  // Appends initialSyncStatus while this member's data is being copied. Absent without a set.
  std::function<void(bson::Builder& out)> append_initial_sync = {};

  // Asks the process to end; returns at once.
  std::function<void(int exit_code)> request_shutdown = {};

  // Asks the process to end in order and to start anew in place, with the same arguments, as the same process; returns at once.
  std::function<void(const std::string& why)> restart = {};
};

}  // namespace server
