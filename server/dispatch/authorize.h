// Before a command runs, dispatch asks whether the connection may run it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "bson/document.h"

namespace server {

class Command;
class OperationContext;
struct Services;

// Throws Unauthorized (13). Without access control everybody may do everything. A user who changed or was dropped since the
// connection's last request has his new rights, or none, from this one on.
void authorize(OperationContext& op, const Command& command);

// Returns whether the connection may run a command on `db` that has run before, by its body: its user's rights may have changed.
bool may_still_run(const OperationContext& op, std::string_view db, bson::DocumentView body);

// A unique index can't be made if any branch has a key twice, and the error names it. Returns the text for a client who may
// not read that branch; nullopt: the error stays as it is.
std::optional<std::string> without_hidden_key(const OperationContext& op, const base::OperationError& error);

// Throws OperationError if a command has no rule. Call it once, when all commands are there.
void check_rules(const Services& services);

}  // namespace server
