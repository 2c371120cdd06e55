// A command that explain can explain implements this beside Command.
#pragma once

#include "bson/builder.h"
#include "server/query/query.h"

namespace server {

class OperationContext;
struct Request;

class Explainable {
 public:
  virtual ~Explainable() = default;
  // Appends explainVersion, queryPlanner and, above its verbosity, executionStats. Changes nothing.
  virtual void explain(OperationContext& op, const Request& request, query::Verbosity verbosity, bson::Builder& reply) = 0;
};

// Appends the end of every explain: the command, who explained it, and the limits of its plan.
void append_explained(OperationContext& op, const Request& explained, bson::Builder& reply);

}  // namespace server
