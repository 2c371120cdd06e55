// The settings say which files TLS uses and what it asks of the other side.
#pragma once

#include <string>

namespace base::tls {

struct Settings {
  std::string certificate_key_file;  // PEM: this server's certificate, its chain and its private key
  std::string certificate_key_password;
  std::string cluster_file;  // shows connections to other members who calls; empty: certificate_key_file does
  std::string cluster_password;
  std::string ca_file;          // the authorities that certificates of other servers, and of clients, must come from
  std::string cluster_ca_file;  // the authorities for clients, where they are others
  std::string crl_file;

  bool allow_without_certificates = false;  // clients may show none
  bool allow_invalid_certificates = false;  // certificates are looked at, and connections go on all the same
  bool allow_invalid_hostnames = false;     // a server's certificate may be for another host
  bool tls12 = true;
  bool tls13 = true;
};

}  // namespace base::tls
