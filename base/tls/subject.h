// The subject of a certificate, as RFC 2253 writes it and MongoDB names users of X.509: "CN=db1,OU=Servers,O=Example".
#pragma once

#include <string>

struct x509_st;

namespace base::tls {

std::string subject_of(const x509_st& certificate);

}  // namespace base::tls
