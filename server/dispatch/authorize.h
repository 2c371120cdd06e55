// Before a command runs, dispatch asks whether the connection may run it.
#pragma once

namespace server {

class Command;
class OperationContext;
struct Services;

// Throws Unauthorized (13). Without access control everybody may do everything. A user who changed or was dropped since the
// connection's last request has his new rights, or none, from this one on.
void authorize(OperationContext& op, const Command& command);

// Throws OperationError if a command has no rule. Call it once, when all commands are there.
void check_rules(const Services& services);

}  // namespace server
