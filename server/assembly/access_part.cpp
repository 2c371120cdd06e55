#include "server/assembly/access_part.h"

#include "base/error.h"
#include "base/tls/contexts.h"
#include "replication/oplog.h"
#include "server/core/options.h"
#include "server/core/parameters.h"
#include "server/core/services.h"
#include "server/core/setting.h"
#include "server/core/status_sections.h"
#include "server/users/key_file.h"

namespace server {
namespace {

bson::Value shown(const std::vector<std::string>& mechanisms) {
  bson::ArrayBuilder out;
  for (const std::string& mechanism : mechanisms) out.append(mechanism);
  return out.done_value();
}

// "SCRAM-SHA-256,MONGODB-X509"
std::vector<std::string> parse_mechanisms(const bson::ValueView& given) {
  if (!given.is_string())
    throw base::OperationError(base::ErrorCode::bad_value, "authenticationMechanisms takes names, with commas between");
  std::vector<std::string> out = settings::split(std::string(given.as_string()), ',');
  for (const std::string& name : out) {
    if (name != "SCRAM-SHA-1" && name != "SCRAM-SHA-256" && name != "MONGODB-X509")
      throw base::OperationError(base::ErrorCode::bad_value, "Unknown authentication mechanism: " + name);
  }
  if (out.empty()) throw base::OperationError(base::ErrorCode::bad_value, "authenticationMechanisms names none");
  return out;
}

}  // namespace

void append_logins(const users::Logins& logins, bson::Builder& out) {
  auto authentication = out.object("authentication");
  auto mechanisms = authentication.object("mechanisms");
  for (const auto& counts : logins.counts()) {
    auto one = mechanisms.object(counts.mechanism);
    one.object("speculativeAuthenticate")
        .append("received", counts.speculative_received)
        .append("successful", counts.speculative_successful);
    one.object("authenticate").append("received", counts.received).append("successful", counts.successful);
  }
}

std::vector<std::string> member_keys(const Options& options) {
  return options.key_file.empty() ? std::vector<std::string>() : users::read_key_file(options.key_file);
}

AccessPart::AccessPart(const Options& options, Services& services, storage::Store& store, replication::Oplog& oplog)
    : oplog_(oplog), users_(store), logins_(options, services.clock, &users_, services.audit, member_keys(options)) {
  oplog_.watch_admin([this] { users_.changed(); });
  if (services.tls) logins_.set_own_subject([tls = services.tls] { return tls->own().subject; });
  services.logins = &logins_;
  users::LoginSettings& settings = logins_.settings();
  constexpr int64_t most = 100'000'000;
  services.parameters.add_integer("scramIterationCount", settings.iterations_sha1,
                                  {.min = access::scram_iterations_min, .max = most});
  services.parameters.add_integer("scramSHA256IterationCount", settings.iterations_sha256,
                                  {.min = access::scram_iterations_min, .max = most});
  services.parameters.add_integer("authFailedDelayMs", settings.failed_delay_ms, {.min = 0, .max = 5000});
  services.parameters.add_boolean("enableLocalhostAuthBypass", settings.localhost_bypass, false);
  services.parameters.add(
      "authenticationMechanisms",
      {[this] { return shown(logins_.mechanisms()); },
       [this](const bson::ValueView& given) { logins_.set_mechanisms(parse_mechanisms(given)); }, true, false});
}

AccessPart::~AccessPart() {
  oplog_.watch_admin({});
}

}  // namespace server
