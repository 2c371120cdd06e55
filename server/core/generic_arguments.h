// Every command may carry the generic arguments: $db, lsid, maxTimeMS,
// readConcern, writeConcern, apiVersion and the like. They are read and checked
// here, once.
#pragma once

#include <string_view>

#include "bson/document.h"

namespace server {

class Command;
class OperationContext;
struct Request;
struct WriteConcern;

// Such an argument is known with any command, and so never an "unknown field".
bool is_generic_argument(std::string_view name);

// Sets the operation's deadline, session, API parameters and concerns. Throws OperationError, in the words of MongoDB 7.0, for an
// argument that is malformed or not possible on this server or with this command.
void apply_generic_arguments(OperationContext& op, const Command& command);

// Reads {w: 1, j: true, wtimeout: 1000}. Without a replica set, a request for more than one member or for a mode other than the
// majority is refused. Throws FailedToParse, BadValue.
WriteConcern parse_write_concern(bson::DocumentView given, bool replicated);

// Throws 40415 for a field that the command doesn't know, 40413 for a repeated one, and APIStrictError (323) if the client keeps
// to the Stable API (`api_strict`) and the field isn't part of it.
void check_known_fields(const Command& command, const Request& request, bool api_strict = false);

}  // namespace server
