#include "server/commands/shared/view_rights.h"

#include "base/error.h"
#include "server/core/operation.h"
#include "server/core/options.h"
#include "server/core/services.h"
#include "server/dispatch/rules/rules.h"
#include "server/query/views.h"

namespace server {

void check_may_define_view(const OperationContext& op, const Request& request, std::string_view db,
                           bson::DocumentView definition) {
  const query::View view = query::parse_view(definition);
  if (!op.services().options.authorization) return;
  const access::AuthorityPtr authority = op.client().authority();
  if (authority && rules::may_run_pipeline(rules::Asker(*authority, request), db, view.on, view.pipeline)) return;
  throw base::OperationError(base::ErrorCode::unauthorized, "not authorized on " + std::string(db) + " to define the view " +
                                                                view.name + " by " + request.command);
}

}  // namespace server
