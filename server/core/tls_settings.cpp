// net.tls: which files TLS uses, and what it asks of clients and members.
#include "server/core/setting.h"

namespace server::settings {
namespace {

using S = std::string;

Options::TlsMode mode_of(const S& text) {
  if (text == "disabled") return Options::TlsMode::disabled;
  if (text == "allowTLS") return Options::TlsMode::allow;
  if (text == "preferTLS") return Options::TlsMode::prefer;
  if (text == "requireTLS") return Options::TlsMode::require;
  bad("unsupported value for tlsMode " + text);
}

Setting text(S yaml, S cli, S help, S base::tls::Settings::*field, Kind kind = Kind::text) {
  const S name = yaml;
  return {std::move(yaml), std::move(cli), kind, std::move(help), [field, name](Options& o, const S& v) {
            if (v.empty()) bad(name + " is empty");
            o.tls.*field = v;
          }};
}

Setting allows(S yaml, S cli, S help, bool base::tls::Settings::*field) {
  return flag(std::move(yaml), std::move(cli), std::move(help), [field](Options& o, bool on) { o.tls.*field = on; });
}

// TLS 1.0 and 1.1 are never spoken, so disabling them changes nothing.
void disable(Options& options, const S& list) {
  for (const S& name : split(list, ',')) {
    if (name == "none") bad("--tlsDisabledProtocols none: TLS 1.0 and TLS 1.1 are not supported");
    if (name == "TLS1_2")
      options.tls.tls12 = false;
    else if (name == "TLS1_3")
      options.tls.tls13 = false;
    else if (name != "TLS1_0" && name != "TLS1_1")
      bad("Unrecognized disabledProtocols '" + name + "'");
  }
  if (!options.tls.tls12 && !options.tls.tls13) bad("All valid TLS modes disabled");
}

}  // namespace

std::vector<Setting> tls() {
  using T = base::tls::Settings;
  return {
      {"net.tls.mode", "tlsMode", Kind::text, "set the TLS operation mode (disabled|allowTLS|preferTLS|requireTLS)",
       [](Options& o, const S& v) { o.tls_mode = mode_of(v); }},
      text("net.tls.certificateKeyFile", "tlsCertificateKeyFile", "certificate and key file for TLS", &T::certificate_key_file),
      text("net.tls.certificateKeyFilePassword", "tlsCertificateKeyFilePassword",
           "password to unlock key in the certificate key file", &T::certificate_key_password, Kind::secret),
      text("net.tls.clusterFile", "tlsClusterFile", "key file for internal TLS authentication", &T::cluster_file),
      text("net.tls.clusterPassword", "tlsClusterPassword", "internal authentication key file password", &T::cluster_password,
           Kind::secret),
      text("net.tls.CAFile", "tlsCAFile", "certificate authority file for TLS", &T::ca_file),
      text("net.tls.clusterCAFile", "tlsClusterCAFile", "CA used for verifying remotes during inbound connections",
           &T::cluster_ca_file),
      text("net.tls.CRLFile", "tlsCRLFile", "certificate revocation list file for TLS", &T::crl_file),
      {"net.tls.disabledProtocols", "tlsDisabledProtocols", Kind::text,
       "comma separated list of TLS protocols to disable [TLS1_0,TLS1_1,TLS1_2,TLS1_3]", disable},
      allows("net.tls.allowConnectionsWithoutCertificates", "tlsAllowConnectionsWithoutCertificates",
             "allow client to connect without presenting a certificate", &T::allow_without_certificates),
      allows("net.tls.allowInvalidCertificates", "tlsAllowInvalidCertificates",
             "allow connections to servers with invalid certificates", &T::allow_invalid_certificates),
      allows("net.tls.allowInvalidHostnames", "tlsAllowInvalidHostnames",
             "allow server certificates to provide non-matching hostnames", &T::allow_invalid_hostnames),
      refused("net.tls.FIPSMode", "tlsFIPSMode", "FIPS mode is not supported"),
      refused("net.tls.certificateSelector", "tlsCertificateSelector", "certificates are read from files alone"),
      refused("net.tls.clusterCertificateSelector", "tlsClusterCertificateSelector", "certificates are read from files alone"),
      refused("net.tls.logVersions", "tlsLogVersions", "serverStatus' transportSecurity counts versions of TLS"),
      refused("net.ssl.mode", "sslMode", "use --tlsMode"),
  };
}

void check_tls(Options& options) {
  const base::tls::Settings& tls = options.tls;
  if (options.tls_mode == Options::TlsMode::disabled) {
    const bool given = !tls.certificate_key_file.empty() || !tls.certificate_key_password.empty() || !tls.cluster_file.empty() ||
                       !tls.cluster_password.empty() || !tls.ca_file.empty() || !tls.cluster_ca_file.empty() ||
                       !tls.crl_file.empty() || tls.allow_without_certificates || tls.allow_invalid_certificates ||
                       tls.allow_invalid_hostnames || !tls.tls12 || !tls.tls13;
    if (given) bad("need to enable TLS via the sslMode/tlsMode flag");
    return;
  }
  if (tls.certificate_key_file.empty()) bad("need tlsCertificateKeyFile or certificateSelector when TLS is enabled");
  if (!tls.crl_file.empty() && tls.ca_file.empty()) bad("need tlsCAFile with tlsCRLFile");
  if (!tls.cluster_ca_file.empty() && tls.ca_file.empty()) bad("need tlsCAFile with tlsClusterCAFile");
}

}  // namespace server::settings
