// A command that may take long, with its progress.
#pragma once

#include <string>

#include "client/connection.h"

namespace client {

// Runs the command, and meanwhile asks the server, over a second connection, how far it is (currentOp's `progress`), which is
// shown as a bar on a terminal. `what` names the step. Throws what Connection::run throws.
bson::Document run_watched(const Target& target, Connection& server, const std::string& db, const bson::Document& command,
                           const std::string& what);

}  // namespace client
