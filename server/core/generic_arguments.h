// The arguments every command may carry: $db, lsid, maxTimeMS, readConcern,
// writeConcern, apiVersion and the like. Read and checked here, once.
#pragma once

#include <string_view>

#include "bson/document.h"

namespace server {

class Command;
class OperationContext;
struct Request;
struct WriteConcern;

// Known with any command, so never an "unknown field".
bool is_generic_argument(std::string_view name);

// Fills in the operation's deadline, session, API parameters and write concern.
// Throws OperationError, worded as MongoDB 7.0 words it, for what is malformed
// or not possible on this server or with this command.
void apply_generic_arguments(OperationContext& op, const Command& command);

// {w: 1, j: true, wtimeout: 1000}. Without a set neither more than one member nor a mode but the majority can be asked for.
// Throws FailedToParse, BadValue.
WriteConcern parse_write_concern(bson::DocumentView given, bool replicated);

// Throws 40415 for a field the command doesn't know, 40413 for a repeated one, and APIStrictError (323) where the client keeps to
// the Stable API (`api_strict`) and the field is outside of it.
void check_known_fields(const Command& command, const Request& request, bool api_strict = false);

}  // namespace server
