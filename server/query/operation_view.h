// currentOp and $currentOp show running operations, and on demand idle connections and cursors.
#pragma once

#include <vector>

#include "bson/document.h"
#include "server/core/memory.h"

namespace server {

class Client;
struct Services;

struct OperationViewOptions {
  bool idle_connections = false;
  bool idle_cursors = false;
  bool idle_sessions = true;    // those with an open transaction
  bool whole_commands = false;  // false: fields of more than a kilobyte are shown by their size, as longer ones always are
  // Only what this client's user runs is shown; nullptr: everybody's.
  const Client* of = nullptr;
};

// Commands are shown up to 16 KB each, since nobody can begin or end an operation while they are copied. `held` keeps the bytes
// of what is returned. Thread-safe.
std::vector<bson::Document> view_operations(Services& services, const OperationViewOptions& options, Held& held);

}  // namespace server
