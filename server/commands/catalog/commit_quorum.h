// commitQuorum of createIndexes: how many members of the set are to have built the indexes before the command is answered.
//
// A member builds an index when it applies the log's entry of it, so a quorum is awaited as a write concern is. The primary has
// the index before the others do.
#pragma once

#include <optional>

#include "bson/document.h"
#include "replication/coordinator.h"

namespace server {

class OperationContext;

// 0 … 50, "majority", "votingMembers", or a mode of the set's own; nullopt: none was given. Throws BadValue without a set,
// FailedToParse, UnknownReplWriteConcern (79) for another mode, UnsatisfiableCommitQuorum (278) where there are too few members.
std::optional<replication::WriteConcern> parse_commit_quorum(const OperationContext& op, const bson::ValueView& given);

// Waits until so many members have what the operation wrote. Throws what ends the operation.
void await_commit_quorum(OperationContext& op, const replication::WriteConcern& quorum);

}  // namespace server
