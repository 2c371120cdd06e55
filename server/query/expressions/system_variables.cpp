#include "server/query/expressions/system_variables.h"

#include <set>

#include "bson/builder.h"
#include "replication/optime.h"
#include "server/core/cluster_time.h"
#include "server/core/operation.h"
#include "server/core/services.h"

namespace server::query {

bson::Document system_variables(const OperationContext& op) {
  bson::Builder variables;
  if (in_initiated_set(op.services())) variables.append("CLUSTER_TIME", replication::timestamp_of(cluster_time(op.services())));
  std::set<std::pair<std::string_view, std::string_view>> names;
  const access::AuthorityPtr user = op.client().authority();
  if (user) {
    for (const access::Name& role : user->roles) names.emplace(role.db, role.name);
  }
  {
    auto roles = variables.array("USER_ROLES");
    for (const auto& [db, name] : names)
      roles.object().append("_id", std::string(db) + "." + std::string(name)).append("role", name).append("db", db);
  }
  return variables.done();
}

}  // namespace server::query
