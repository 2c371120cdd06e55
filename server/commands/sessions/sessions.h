// Logical sessions: clients name them, the server remembers nothing but what
// was opened under the name. Checks shared by the session commands.
#pragma once

#include <string_view>

#include "server/core/command.h"

namespace server {

// The array of session ids ({id: UUID}) in the command's first field. Throws
// TypeMismatch, 40414 or InvalidUUID for what isn't one.
bson::DocumentView session_ids(const Request& request);

// Interrupts what runs under the session and closes what was opened under it; the empty document: of all sessions.
void kill_session(OperationContext& op, bson::DocumentView lsid);

}  // namespace server
