// Definitions of views also come from elsewhere than `create`: with the commits of another server, and from whoever decides a
// merge's conflict.
#pragma once

#include <string_view>

#include "bson/document.h"

namespace server {

class OperationContext;
struct Request;

// Checks a document of system.views of the database, which may be a branch. Throws InvalidViewDefinition (182) if it defines no
// view, and Unauthorized if the client may not read all that the view would show.
void check_may_define_view(const OperationContext& op, const Request& request, std::string_view db,
                           bson::DocumentView definition);

}  // namespace server
