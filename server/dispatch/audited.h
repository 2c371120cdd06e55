// Some commands are events of the audit log by their names: what they change is no schema, which records itself.
#pragma once

#include "base/error.h"

namespace server {

class Audit;
class Command;
class OperationContext;

// Records the operation, which has just ended with `code`, if its command is such an event.
void audit_command(Audit& audit, const OperationContext& op, const Command& command, base::ErrorCode code);

}  // namespace server
