// failCommand is the fail point that tests of drivers use. It says what happens to a command of certain names, of a certain
// application, on a certain collection.
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

// A CommandFault is what the fail point changes in the reply.
struct CommandFault {
  std::optional<bson::Value> labels;  // they replace the labels that the error has by itself
};

// Called before the command runs. Blocks, closes the connection, or throws the error that the fail point has; throws
// InvalidOptions for a bad blockTimeMS.
void fail_before(OperationContext& op, const Command& command, CommandFault& fault);

// Called after the command ran: returns the reply with the fail point's write concern error, if the command takes a write
// concern.
bson::Document fail_after(OperationContext& op, const Command& command, bson::Document reply);

// Returns whether fail_before would end a request that hasn't begun yet with an error or a closed connection; counts nothing.
bool would_fail(const FailPoints& points, const Client& client, const Request& request, const Command& command);

// Returns whether the data of a fail point name this sender, thread and namespace, whatever command they name.
bool concerns(bson::DocumentView data, const Client& client, const Request& request, const Command& command);

}  // namespace server
