// System variables are those that the server sets itself. A pipeline, or an expression outside of pipelines, gets their values
// when it is parsed, and keeps them in the batches that its cursor returns later.
#pragma once

#include "bson/document.h"

namespace server {
class OperationContext;
}

namespace server::query {

// Returns them as variables of a `let`: CLUSTER_TIME, unless the server is in no replica set, and USER_ROLES, an array of
// {_id: "db.role", role, db} with the roles of the user that is logged in, and those that they inherit.
bson::Document system_variables(const OperationContext& op);

}  // namespace server::query
