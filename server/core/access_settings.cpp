// These settings are of access control.
#include <algorithm>

#include "server/core/setting.h"

namespace server::settings {
namespace {

using S = std::string;
using ClusterAuth = Options::ClusterAuth;

ClusterAuth cluster_auth_of(const S& text) {
  if (text == "keyFile") return ClusterAuth::key_file;
  if (text == "sendKeyFile") return ClusterAuth::send_key_file;
  if (text == "sendX509") return ClusterAuth::send_x509;
  if (text == "x509") return ClusterAuth::x509;
  bad("unsupported value for clusterAuthMode " + text);
}

bool is_loopback(const S& address) {
  return address == "localhost" || address.starts_with("127.") || address == "::1" || address.starts_with("/");
}

}  // namespace

std::vector<Setting> access() {
  return {
      flag("", "auth", "run with access control", [](Options& o, bool on) { o.authorization = on; }),
      flag("", "noauth", "run without access control, also on other interfaces than loopback",
           [](Options& o, bool on) { o.unprotected = on; }),
      {"security.authorization", "", Kind::text, "",
       [](Options& o, const S& v) {
         const bool on = one_of(v, "security.authorization", {"enabled", "disabled"}) == "enabled";
         (on ? o.authorization : o.unprotected) = true;
       }},
      {"security.keyFile", "keyFile", Kind::text, "private key for members of the set to log in to each other",
       [](Options& o, const S& v) {
         if (v.empty()) bad("--keyFile names no file");
         o.key_file = v;
       }},
      {"security.clusterAuthMode", "clusterAuthMode", Kind::text,
       "how members log in to each other [keyFile|sendKeyFile|sendX509|x509]",
       [](Options& o, const S& v) { o.cluster_auth = cluster_auth_of(v); }},
      refused("security.transitionToAuth", "transitionToAuth", "members either have access control or don't"),
      refused("security.ldap.servers", "ldapServers", "LDAP is not supported"),
      refused("security.sasl.hostName", "saslHostName", "Kerberos is not supported"),
  };
}

// A key file says that there is access control. Without any, the server is for this machine alone, unless somebody says else.
void check_access(Options& options) {
  const bool by_certificate = options.cluster_auth == ClusterAuth::x509 || options.cluster_auth == ClusterAuth::send_x509;
  if (options.unprotected && (options.authorization || !options.key_file.empty()))
    bad("--noauth and --auth, or --keyFile, exclude each other");
  if (!options.key_file.empty() || by_certificate) options.authorization = true;
  if (by_certificate && options.tls_mode == Options::TlsMode::disabled)
    bad("cannot have x.509 cluster authentication in tlsMode disabled");
  if (by_certificate && options.tls.ca_file.empty()) bad("x.509 cluster authentication needs --tlsCAFile");
  const bool needs_key = options.cluster_auth != ClusterAuth::x509 && options.cluster_auth != ClusterAuth::send_x509;
  if (options.authorization && !options.repl_set.empty() && needs_key && options.key_file.empty())
    bad("security.keyFile is required when authorization is enabled with replica sets");
  const bool elsewhere =
      std::any_of(options.bind_ip.begin(), options.bind_ip.end(), [](const S& ip) { return !is_loopback(ip); });
  if (options.action == Options::Action::serve && elsewhere && !options.authorization && !options.unprotected) {
    bad("net.bindIp names other interfaces than loopback, and there is no access control: anybody who can connect could read and "
        "write everything. Use --auth, or say --noauth");
  }
}

}  // namespace server::settings
