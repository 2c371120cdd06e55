#include "base/tls/subject.h"

#include <openssl/bio.h>
#include <openssl/x509.h>

#include <memory>

namespace base::tls {

std::string subject_of(const x509_st& certificate) {
  const std::unique_ptr<BIO, int (*)(BIO*)> text(BIO_new(BIO_s_mem()), BIO_free);
  if (!text) return "";
  // Letters beyond ASCII stay as they are, in UTF-8.
  constexpr unsigned long style = XN_FLAG_RFC2253 & ~static_cast<unsigned long>(ASN1_STRFLGS_ESC_MSB);
  if (X509_NAME_print_ex(text.get(), X509_get_subject_name(&certificate), 0, style) < 0) return "";
  char* data = nullptr;
  const long size = BIO_get_mem_data(text.get(), &data);
  return size > 0 ? std::string(data, static_cast<size_t>(size)) : "";
}

}  // namespace base::tls
