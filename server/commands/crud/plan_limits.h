// Every plan has limits that MongoDB has as parameters. Here they are constants: getParameter and explain show them, and
// setParameter refuses them.
#pragma once

#include "bson/builder.h"

namespace server {

class OperationContext;
class ServerParameters;

void add_plan_limits(ServerParameters& parameters);

// Appends what explain shows as serverParameters: these limits and the memory that a sort may have.
void append_plan_limits(const OperationContext& op, bson::Builder& out);

}  // namespace server
