#include "server/core/audit.h"

#include "base/clock.h"
#include "base/host_port.h"
#include "base/log.h"
#include "base/uuid.h"
#include "bson/builder.h"
#include "server/core/client.h"

namespace server {
namespace {

thread_local const Client* working_client = nullptr;

void append_address(bson::Builder& out, std::string_view name, const std::string& text, bool unix_socket) {
  auto address = out.object(name);
  if (unix_socket) {
    address.append("unix", text.starts_with("/") ? text : "anonymous");
  } else if (const auto parsed = base::parse_host_port(text)) {
    address.append("ip", parsed->host).append("port", static_cast<int32_t>(parsed->port));
  }
}

void append_client(bson::Builder& out, const Client* client) {
  if (!client) {
    out.object("local").append("isSystemUser", true);
    out.object("remote").append("isSystemUser", true);
  } else {
    append_address(out, "local", client->local(), client->is_unix_socket());
    append_address(out, "remote", client->remote(), client->is_unix_socket());
  }
  const access::AuthorityPtr authority = client ? client->authority() : nullptr;
  {
    auto users = out.array("users");
    if (authority) users.object().append("user", authority->user.name).append("db", authority->user.db);
  }
  auto roles = out.array("roles");
  if (!authority) return;
  for (const access::Name& role : authority->roles) roles.object().append("role", role.name).append("db", role.db);
}

}  // namespace

Audit::Audit(std::unique_ptr<AuditSink> sink, Filter filter, base::Clock& clock)
    : filter_(std::move(filter)), clock_(clock), sink_(std::move(sink)) {}

void Audit::record(std::string_view atype, const Client* client, bson::DocumentView param, base::ErrorCode result) try {
  bson::Builder out;
  out.append("atype", atype).append("ts", bson::Date{clock_.wall_ms()});
  const bson::Bytes id = client ? client->audit_id() : base::random_uuid();
  out.append("uuid", bson::Binary{4, id});
  append_client(out, client);
  out.append("param", param).append("result", static_cast<int32_t>(result));
  const bson::Document event = out.done();
  if (filter_ && !filter_(event)) return;
  const base::MutexLock lock(mutex_);
  sink_->write(event);
} catch (const std::exception& error) {
  base::log(base::Severity::error, base::LogComponent::access, 7100060, "An event of the audit log is lost",
            base::Attributes().add("atype", atype).add("error", error.what()));
}

void Audit::rotate() {
  const base::MutexLock lock(mutex_);
  sink_->rotate();
}

Audit::Working::Working(const Client& client) {
  working_client = &client;
}
Audit::Working::~Working() {
  working_client = nullptr;
}
const Client* Audit::working_for() {
  return working_client;
}

}  // namespace server
