#include "server/assembly/assembly.h"

#include <future>

#include "base/clock.h"
#include "base/log.h"
#include "base/tls/contexts.h"
#include "server/assembly/access_part.h"
#include "server/assembly/audit_part.h"
#include "server/assembly/status.h"
#include "server/assembly/storage_part.h"
#include "server/commands/all.h"
#include "server/commands/crud/plan_limits.h"
#include "server/core/audit.h"
#include "server/core/collection_usage.h"
#include "server/core/command_registry.h"
#include "server/core/fail_points.h"
#include "server/core/memory.h"
#include "server/core/metrics.h"
#include "server/core/operation.h"
#include "server/core/parameters.h"
#include "server/core/services.h"
#include "server/core/session_registry.h"
#include "server/core/status_sections.h"
#include "server/core/topology.h"
#include "server/dispatch/authorize.h"
#include "server/dispatch/dispatch.h"
#include "server/dispatch/profiler.h"
#include "server/dispatch/set_rules.h"
#include "server/peers/member_login.h"
#include "server/query/plan/index_filters.h"
#include "server/query/plan/plan_cache.h"
#include "server/query/query_parameters.h"
#include "server/script/engine.h"

namespace server {

// The parts are in the order of construction: a part may use those above it.
struct Assembly::Parts {
  explicit Parts(Options given) : options(std::move(given)) {}

  Options options;
  ServerParameters parameters;
  StatusSections status;
  Metrics metrics;
  OperationRegistry operations;
  CommandRegistry commands;
  Topology topology;
  SessionRegistry sessions;
  FailPoints fail_points;
  CollectionUsage usage;
  Profiler profiler{options};
  query::IndexFilters index_filters;
  query::PlanCache plan_cache;
  query::QueryParameters query_parameters;
  MemoryPool memory{options.operation_memory_bytes(), options.operation_memory_bytes() / 2};
  Services services{options,  base::system_clock(), parameters, status,   metrics,       operations, commands, topology,
                    sessions, fail_points,          usage,      profiler, index_filters, plan_cache, memory};
  Dispatcher dispatcher{services};
  std::unique_ptr<base::tls::Contexts> tls;
  std::optional<peers::MemberLogin> login;
  std::unique_ptr<Audit> audit;
  std::unique_ptr<StoragePart> storage;
};

Assembly::Assembly(Options options, ProcessRequests requests) : parts_(std::make_unique<Parts>(std::move(options))) {
  Parts& parts = *parts_;
  parts.services.request_shutdown = std::move(requests.end);
  parts.services.restart = std::move(requests.restart);
  script::set_enabled(parts.options.scripting);
  if (parts.options.tls_mode != Options::TlsMode::disabled) {
    parts.tls = std::make_unique<base::tls::Contexts>(parts.options.tls);
    parts.services.tls = parts.tls.get();
    if (parts.options.tls_mode != Options::TlsMode::allow) parts.services.member_tls = parts.tls.get();
  }
  if (const std::vector<std::string> keys = member_keys(parts.options);
      parts.options.authorization && !parts.options.repl_set.empty()) {
    using ClusterAuth = Options::ClusterAuth;
    const ClusterAuth how = parts.options.cluster_auth;
    parts.login = peers::MemberLogin{keys.empty() ? std::string() : keys.front(),
                                     how == ClusterAuth::x509 || how == ClusterAuth::send_x509};
    parts.services.member_login = &*parts.login;
  }
  parts.audit = make_audit(parts.options, parts.services.clock);
  parts.services.audit = parts.audit.get();
  add_log_parameters(parts.parameters);
  add_compatibility_parameters(parts.parameters, parts.options);
  add_plan_limits(parts.parameters);
  parts.services.redacts_log = parts.options.redact_log;
  script::set_redaction(&parts.services.redacts_log);
  parts.parameters.add_boolean("redactClientLogData", parts.services.redacts_log);
  parts.parameters.add_boolean("enableTestCommands", parts.fail_points.enabled, false);
  MemoryPool::Limits& memory = parts.memory.limits();
  constexpr int64_t least = 16 << 20;
  parts.parameters.add_integer("operationsMemoryLimitBytes", memory.bytes_max, {.min = least});
  parts.parameters.add_integer("operationMemoryLimitBytes", memory.operation_bytes_max, {.min = least});
  parts.query_parameters.add_to(parts.parameters);
  add_status_sections(parts.services);
  add_all_commands(parts.commands);
  check_rules(parts.services);
  if (!parts.options.dbpath.empty()) parts.storage = std::make_unique<StoragePart>(parts.options, parts.services);
  for (const auto& [name, value] : parts.options.set_parameters) parts.parameters.set_at_startup(name, value);
  if (parts.storage) parts.storage->start();
}

Assembly::~Assembly() {
  script::set_redaction(nullptr);
}

void Assembly::hand_over() {
  if (parts_->storage) parts_->storage->hand_over();
}

Services& Assembly::services() {
  return parts_->services;
}
Dispatcher& Assembly::dispatcher() {
  return parts_->dispatcher;
}

bson::Document Assembly::run(const std::string& db, bson::DocumentView command) {
  bson::Builder body;
  body.append_all(command).append("$db", db);
  const bson::Document document = body.done();
  Client client(ClientId{0}, "127.0.0.1:0", "127.0.0.1:0", false);
  client.set_authority(access::internal_authority(), 0);
  const Request request{std::string(document.view().first().name), db, document, {}};
  Dispatcher::Reply reply = dispatcher().run(client, request, false);
  if (!reply.acknowledgement) return std::move(reply.body);
  reply.acknowledgement->operation.reset();  // nobody can end the wait below
  const auto acknowledged = std::make_shared<std::promise<std::optional<replication::WriteConcernFailure>>>();
  services().replica_set->when_acknowledged(reply.acknowledgement->optime, reply.acknowledgement->concern,
                                            [acknowledged](auto failure) { acknowledged->set_value(std::move(failure)); });
  const auto failure = acknowledged->get_future().get();
  return failure ? with_write_concern_error(services(), reply.body, *reply.acknowledgement, *failure) : std::move(reply.body);
}

}  // namespace server
