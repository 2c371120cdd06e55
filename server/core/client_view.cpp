#include "server/core/client_view.h"

namespace server {

void append_users(bson::Builder& out, const access::AuthorityPtr& authority) {
  if (!authority) return;
  auto users = out.array("effectiveUsers");
  users.object().append("user", authority->user.name).append("db", authority->user.db);
}

void append_client(bson::Builder& out, const Client& client) {
  out.append("connectionId", static_cast<int32_t>(client.id())).append("client", client.remote());
  append_users(out, client.authority());
  const auto metadata = client.metadata();
  if (!metadata) return;
  if (!metadata->app_name.empty()) out.append("appName", metadata->app_name);
  out.append("clientMetadata", metadata->document);
}

}  // namespace server
