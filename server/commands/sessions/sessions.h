// Clients name logical sessions; of a session the server remembers only the
// cursors that were opened under its name. The session commands share these
// checks.
#pragma once

#include <string>

#include "base/error.h"
#include "server/core/command.h"

namespace server {

// Returns the array of session ids ({id: UUID}) in the command's first field. Throws TypeMismatch, 40414 or InvalidUUID if an
// element isn't one.
bson::DocumentView session_ids(const Request& request);

// `path` is the field's, as an error names it.
base::OperationError not_an_object(const std::string& path, const bson::ValueView& value);
// Throws 40414 or InvalidUUID if a session can't have this `id`.
void check_session_id(const std::string& path, const bson::ValueView& id);

// Interrupts the operations of the sessions that the pattern fits (server/core/session_registry.h), closes the cursors that were
// opened under them, and aborts their transactions.
void kill_sessions(OperationContext& op, bson::BytesView pattern);

}  // namespace server
