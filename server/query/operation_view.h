// currentOp and $currentOp show running operations, and on demand idle connections and cursors.
#pragma once

#include <vector>

#include "bson/document.h"

namespace server {

class Client;
struct Services;

struct OperationViewOptions {
  bool idle_connections = false;
  bool idle_cursors = false;
  bool idle_sessions = true;    // those with an open transaction
  bool whole_commands = false;  // false: fields of more than a kilobyte are shown by their size
  // Only what this client's user runs is shown; nullptr: everybody's.
  const Client* of = nullptr;
};

// Thread-safe.
std::vector<bson::Document> view_operations(Services& services, const OperationViewOptions& options);

}  // namespace server
