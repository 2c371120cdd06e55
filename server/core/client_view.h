// Views of operations and of transactions describe the client in the same fields.
#pragma once

#include "bson/builder.h"
#include "server/core/client.h"

namespace server {

// Appends connectionId and client, and if the client has described itself, appName and clientMetadata.
// Appends `effectiveUsers`; nothing, if nobody is logged in.
void append_users(bson::Builder& out, const access::AuthorityPtr& authority);
void append_client(bson::Builder& out, const Client& client);

}  // namespace server
