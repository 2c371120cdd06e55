// Clients name logical sessions; of a session the server remembers only the
// cursors that were opened under its name. The session commands share these
// checks.
#pragma once

#include <string_view>

#include "server/core/command.h"

namespace server {

// Returns the array of session ids ({id: UUID}) in the command's first field. Throws TypeMismatch, 40414 or InvalidUUID if an
// element isn't one.
bson::DocumentView session_ids(const Request& request);

// Interrupts the session's operations and closes the cursors that were opened under it; the empty document means all sessions.
void kill_session(OperationContext& op, bson::DocumentView lsid);

}  // namespace server
