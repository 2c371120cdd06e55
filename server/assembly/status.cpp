#include "server/assembly/status.h"

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/tls/contexts.h"
#include "server/assembly/access_part.h"
#include "server/assembly/status_metrics.h"
#include "server/core/memory.h"
#include "server/core/metrics.h"
#include "server/core/operation.h"
#include "server/core/options.h"
#include "server/core/parameters.h"
#include "server/core/services.h"
#include "server/core/status_sections.h"
#include "server/core/topology.h"

namespace server {
namespace {

int32_t narrow(int64_t value) {
  return static_cast<int32_t>(std::min<int64_t>(value, INT32_MAX));
}

int32_t active_connections(const OperationRegistry& operations) {
  int32_t active = 0;
  operations.visit([&](const OperationContext& op) { active += op.client().id() == ClientId{0} ? 0 : 1; });
  return active;
}

void append_connections(const Services& services, bson::Builder& out) {
  const Metrics::Connections& counted = services.metrics.connections;
  const Options& options = services.options;
  const int32_t active = active_connections(services.operations);
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  const int64_t room = std::min<int64_t>(options.max_conns, static_cast<int64_t>(files.rlim_cur) * 8 / 10);
  out.append("current", narrow(counted.current.get()))
      .append("available", narrow(std::max<int64_t>(room - counted.current.get(), 0)))
      .append("totalCreated", narrow(counted.created.get()))
      .append("rejected", narrow(counted.rejected.get()))
      .append("active", active)
      .append("threaded", active)  // the others share threads that wait for all of them
      .append("awaitingTopologyChanges", static_cast<int64_t>(services.topology.waiting()));
}

void append_tls_versions(const Metrics::Network& counted, bson::Builder& out) {
  out.append("1.0", int64_t{0}).append("1.1", int64_t{0}).append("1.2", counted.tls12.get()).append("1.3", counted.tls13.get());
  out.append("unknown", int64_t{0});
}

void append_certificate(const base::tls::Contexts& tls, bson::Builder& out) {
  const base::tls::Certificate own = tls.own();
  out.append("SSLServerSubjectName", own.subject)
      .append("SSLServerHasCertificateAuthority", !tls.settings().ca_file.empty())
      .append("SSLServerCertificateExpirationDate", bson::Date{own.not_after_ms});
}

void append_compressor(bson::Builder& out, const char* name, const Metrics::Network::Compressor& counted) {
  auto compressor = out.object(name);
  {
    auto direction = compressor.object("compressor");
    direction.append("bytesIn", counted.raw_out.get()).append("bytesOut", counted.wire_out.get());
  }
  auto direction = compressor.object("decompressor");
  direction.append("bytesIn", counted.wire_in.get()).append("bytesOut", counted.raw_in.get());
}

void append_network(const Metrics::Network& counted, bson::Builder& out) {
  out.append("bytesIn", counted.bytes_in.get())
      .append("bytesOut", counted.bytes_out.get())
      .append("physicalBytesIn", counted.physical_in.get())
      .append("physicalBytesOut", counted.physical_out.get())
      .append("numRequests", counted.requests.get());
  auto compression = out.object("compression");
  append_compressor(compression, "snappy", counted.snappy);
  append_compressor(compression, "zstd", counted.zstd);
  append_compressor(compression, "zlib", counted.zlib);
}

void append_opcounters(const Metrics& metrics, bson::Builder& out) {
  out.append("insert", metrics.operation(OpKind::insert).get())
      .append("query", metrics.operation(OpKind::query).get())
      .append("update", metrics.operation(OpKind::update).get())
      .append("delete", metrics.operation(OpKind::remove).get())
      .append("getmore", metrics.operation(OpKind::get_more).get())
      .append("command", metrics.operation(OpKind::command).get());
}

void append_latency(bson::Builder& out, const char* name, const Metrics::Latency& counted, bool histograms) {
  auto latency = out.object(name);
  if (histograms) {
    auto list = latency.array("histogram");
    for (size_t i = 0; i < counted.buckets.size(); ++i) {
      if (counted.buckets[i].get() == 0) continue;
      auto bucket = list.object();
      bucket.append("micros", LatencyHistogram::lower_bound(i)).append("count", counted.buckets[i].get());
    }
  }
  const base::Histogram& us = counted.us;
  latency.append("latency", static_cast<int64_t>(us.sum())).append("ops", static_cast<int64_t>(us.count()));
  auto quantiles = latency.object("quantilesMicros");
  quantiles.append("p50", static_cast<int64_t>(us.quantile(0.5)))
      .append("p99", static_cast<int64_t>(us.quantile(0.99)))
      .append("p999", static_cast<int64_t>(us.quantile(0.999)));
}

void append_operation_memory(const MemoryPool& memory, bson::Builder& out) {
  out.append("bytes", static_cast<int64_t>(memory.used())).append("peakBytes", static_cast<int64_t>(memory.peak()));
  out.append("limitBytes", memory.limits().bytes_max.load()).append("limitBytesEach", memory.limits().operation_bytes_max.load());
  out.append("refused", static_cast<int64_t>(memory.refused()));
}

// {opLatencies: {histograms: true}} shows the buckets too.
void append_latencies(const OperationContext& op, const Metrics& metrics, bson::Builder& out) {
  const auto asked = op.request().body.find("opLatencies");
  const bool histograms = asked.is_object() && asked.as_document().find("histograms").truthy();
  append_latency(out, "reads", metrics.reads, histograms);
  append_latency(out, "writes", metrics.writes, histograms);
  append_latency(out, "commands", metrics.commands, histograms);
  append_latency(out, "transactions", metrics.transactions, histograms);
}

void append_asserts(const Metrics::Asserts& counted, bson::Builder& out) {
  out.append("regular", narrow(counted.regular.get()))
      .append("warning", narrow(counted.warning.get()))
      .append("msg", narrow(counted.message.get()))
      .append("user", narrow(counted.user.get()))
      .append("tripwire", 0)
      .append("rollovers", narrow(counted.rollovers.get()));
}

void append_memory(bson::Builder& out) {
  int64_t pages = 0;
  int64_t resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  const int64_t page_bytes = ::sysconf(_SC_PAGESIZE);
  out.append("bits", 64)
      .append("resident", narrow(resident * page_bytes >> 20))
      .append("virtual", narrow(pages * page_bytes >> 20))
      .append("supported", true);
}

void append_usage(bson::Builder& out) {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto us = [](const timeval& time) { return static_cast<int64_t>(time.tv_sec) * 1'000'000 + time.tv_usec; };
  out.append("note", "fields vary by platform")
      .append("user_time_us", us(usage.ru_utime))
      .append("system_time_us", us(usage.ru_stime))
      .append("maximum_resident_set_kb", static_cast<int64_t>(usage.ru_maxrss))
      .append("input_blocks", static_cast<int64_t>(usage.ru_inblock))
      .append("output_blocks", static_cast<int64_t>(usage.ru_oublock))
      .append("page_reclaims", static_cast<int64_t>(usage.ru_minflt))
      .append("page_faults", static_cast<int64_t>(usage.ru_majflt))
      .append("voluntary_context_switches", static_cast<int64_t>(usage.ru_nvcsw))
      .append("involuntary_context_switches", static_cast<int64_t>(usage.ru_nivcsw));
}

void set_level(const bson::ValueView& value, base::LogComponent component) {
  const int64_t level = value.to_int64();
  if (!value.is_number() || level < -1 || level > 5) {
    throw base::OperationError(base::ErrorCode::bad_value, "log level must be a number between 0 and 5 (-1: as its parent)");
  }
  base::set_log_verbosity(component, static_cast<int>(level));
}

std::string component_key(base::LogComponent component) {
  std::string name(base::log_component_name(component));
  for (char& c : name) c = static_cast<char>(std::tolower(c));
  return component == base::LogComponent::default_ ? "verbosity" : name;
}

bson::Value component_verbosity() {
  bson::Builder out;
  for (int i = 0; i < base::log_components; ++i) {
    const auto component = static_cast<base::LogComponent>(i);
    if (component == base::LogComponent::default_) {
      out.append("verbosity", base::log_verbosity(component));
      continue;
    }
    auto entry = out.object(component_key(component));
    entry.append("verbosity", base::log_verbosity(component));
  }
  return bson::Value(out.done());
}

void set_component_verbosity(const bson::ValueView& value) {
  if (!value.is_object()) throw base::OperationError(base::ErrorCode::type_mismatch, "logComponentVerbosity is not a document");
  for (const auto& field : value.as_document()) {
    bool known = false;
    for (int i = 0; i < base::log_components; ++i) {
      const auto component = static_cast<base::LogComponent>(i);
      if (field.name != component_key(component)) continue;
      set_level(field.is_object() ? field.as_document().find("verbosity") : field, component);
      known = true;
    }
    if (!known) throw base::OperationError(base::ErrorCode::bad_value, "Invalid component name " + std::string(field.name));
  }
}

}  // namespace

void add_status_sections(Services& services) {
  const Services& s = services;
  StatusSections& sections = services.status;
  sections.add("connections", [&s](OperationContext&, bson::Builder& out) { append_connections(s, out); });
  sections.add("network", [&s](OperationContext&, bson::Builder& out) { append_network(s.metrics.network, out); });
  sections.add("transportSecurity", [&s](OperationContext&, bson::Builder& out) { append_tls_versions(s.metrics.network, out); });
  sections.add("security", [&s](OperationContext&, bson::Builder& out) {
    if (s.logins) append_logins(*s.logins, out);
    if (s.tls) append_certificate(*s.tls, out);
  });
  sections.add("opcounters", [&s](OperationContext&, bson::Builder& out) { append_opcounters(s.metrics, out); });
  sections.add("opLatencies", [&s](OperationContext& op, bson::Builder& out) { append_latencies(op, s.metrics, out); });
  sections.add("asserts", [&s](OperationContext&, bson::Builder& out) { append_asserts(s.metrics.asserts, out); });
  sections.add("mem", [](OperationContext&, bson::Builder& out) { append_memory(out); });
  sections.add("operationMemory", [&s](OperationContext&, bson::Builder& out) { append_operation_memory(s.memory, out); });
  sections.add("extra_info", [](OperationContext&, bson::Builder& out) { append_usage(out); });
  sections.add("globalLock", [&s, begun_us = s.clock.monotonic_us()](OperationContext&, bson::Builder& out) {
    append_global_lock(s, begun_us, out);
  });
  sections.add("locks", [&s](OperationContext&, bson::Builder& out) { append_locks(s.metrics.locks, out); });
  sections.add("opcountersRepl", [](OperationContext&, bson::Builder& out) {  // a member of a set has its own
    for (const char* name : {"insert", "query", "update", "delete", "getmore", "command"}) out.append(name, int64_t{0});
  });
  sections.add("transactions", [&s](OperationContext&, bson::Builder& out) { append_transactions(s, out); });
  sections.add("metrics", [&s](OperationContext&, bson::Builder& out) { append_metrics(s, out); });
}

void add_log_parameters(ServerParameters& parameters) {
  parameters.add("logLevel", {[] { return bson::Value(int32_t{base::log_verbosity(base::LogComponent::default_)}); },
                              [](const bson::ValueView& value) { set_level(value, base::LogComponent::default_); }});
  parameters.add("quiet", {[] { return bson::Value(base::log_quiet()); },
                           [](const bson::ValueView& value) { base::set_log_quiet(value.truthy()); }});
  parameters.add("logComponentVerbosity", {component_verbosity, set_component_verbosity});
}

namespace {

void add_constant(ServerParameters& parameters, const char* name, const bson::Value& value) {
  parameters.add(name, {[value] { return value; }, {}, false, false});
}

const char* name_of(Options::TlsMode mode) {
  switch (mode) {
    case Options::TlsMode::disabled: return "disabled";
    case Options::TlsMode::allow: return "allowTLS";
    case Options::TlsMode::prefer: return "preferTLS";
    case Options::TlsMode::require: return "requireTLS";
  }
  return "";
}

}  // namespace

void add_compatibility_parameters(ServerParameters& parameters, const Options& options) {
  parameters.add("featureCompatibilityVersion", {[] {
                                                   bson::Builder out;
                                                   out.append("version", "7.0");
                                                   return bson::Value(out.done());
                                                 },
                                                 {},
                                                 false,
                                                 false});
  // A mongod without users says so too. mongorestore asks before it looks at a dump's users.
  add_constant(parameters, "authSchemaVersion", bson::Value(int32_t{5}));
  // Its change needs a restart, member by member.
  add_constant(parameters, "tlsMode", bson::Value(name_of(options.tls_mode)));
}

}  // namespace server
