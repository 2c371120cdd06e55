// commitQuorum of createIndexes says how many members of the set must have built the indexes before the command is answered.
//
// A member builds an index when it applies the log's entry of it, so the command waits for a quorum as for a write concern. The
// primary has the index before the others do.
#pragma once

#include <optional>

#include "bson/document.h"
#include "replication/coordinator.h"

namespace server {

class OperationContext;

// Reads 0 … 50, "majority", "votingMembers", or a mode of the set's own; nullopt: none was given. Throws BadValue without a set,
// FailedToParse, UnknownReplWriteConcern (79) for another mode, and UnsatisfiableCommitQuorum (278) if there are too few members.
std::optional<replication::WriteConcern> parse_commit_quorum(const OperationContext& op, const bson::ValueView& given);

// Waits until that many members have the operation's writes. Throws when the operation ends.
void await_commit_quorum(OperationContext& op, const replication::WriteConcern& quorum);

}  // namespace server
