// These functions create, change and drop views (server/query/views.h).
#pragma once

#include "bson/document.h"

#include <string>

namespace server {
class OperationContext;
}
namespace server::query {
struct View;
}

namespace server::write {

// Throws what a definition is refused for: GraphContainsCycle (5), ViewDepthLimitExceeded (165), OptionNotSupportedOnView (167),
// and the errors of its pipeline; NamespaceExists (48) if there is a collection or another view of the name. Does nothing if the
// view exists as it is given.
void create_view(OperationContext& op, const std::string& db, const query::View& view);
// Replaces the definition of a view that exists.
void change_view(OperationContext& op, const std::string& db, const query::View& view);
// Returns false if there is no such view.
bool drop_view(OperationContext& op, const std::string& ns);

// Throws NamespaceExists if a view has the name that a collection is to get.
void check_no_view_has(OperationContext& op, const std::string& ns);

}  // namespace server::write
