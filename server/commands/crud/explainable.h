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

// Appends what the explained command has shown, and the end of every explain: the command, who explained it, and the limits of
// its plan. Texts of the command that aren't UTF-8 become so (core/valid_text.h).
void append_explained(OperationContext& op, const Request& explained, bson::Builder shown, bson::Builder& reply);

}  // namespace server
