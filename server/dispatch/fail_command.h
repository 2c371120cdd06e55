// The fail point failCommand, as tests of drivers use it: what is to happen to a
// command of certain names, of a certain application, on a certain collection.
//
//   {failCommands: [names] | failAllCommands: true, appName, namespace, threadName, failInternalCommands,
//    blockConnection, blockTimeMS, closeConnection, errorCode, errorLabels, writeConcernError}
//
// configureFailPoint itself never fails. There are no internal clients on this port, so failInternalCommands changes nothing.
#pragma once

#include <optional>

#include "bson/document.h"
#include "bson/value.h"

namespace server {

class Client;
class Command;
class FailPoints;
class OperationContext;
struct Request;

// What the fail point says about the reply.
struct CommandFault {
  std::optional<bson::Value> labels;  // instead of those that the error has by itself
};

// Before the command runs. Blocks, closes the connection, throws the error it asks for; InvalidOptions for a bad blockTimeMS.
void fail_before(OperationContext& op, const Command& command, CommandFault& fault);

// After it ran: the reply with the write concern error it asks for, where the command takes a write concern.
bson::Document fail_after(OperationContext& op, const Command& command, bson::Document reply);

// Whether fail_before would end a request that hasn't begun yet with an error or a closed connection; counts nothing.
bool would_fail(const FailPoints& points, const Client& client, const Request& request, const Command& command);

// Whether the data of a fail point are about this sender, thread and namespace, whatever command they name.
bool concerns(bson::DocumentView data, const Client& client, const Request& request, const Command& command);

}  // namespace server
