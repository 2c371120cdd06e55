// Two names as certificates have them, in DER. Each is read as X.509 reads it, or refused; their texts belong to the same
// organization exactly if the names themselves have the same O, OU and DC. So no letter of a name may pass for the end of a part.
//
//   part   a name in DER
//   rest   another
#include <openssl/x509.h>

#include <memory>
#include <set>

#include "base/fuzz_target.h"
#include "base/tls/subject.h"
#include "server/users/subject.h"

namespace {

using base::Bytes;
using base::BytesView;
using base::check;
using NamePtr = std::unique_ptr<X509_NAME, void (*)(X509_NAME*)>;

NamePtr parse(BytesView der) {
  const auto* at = reinterpret_cast<const unsigned char*>(der.data());
  return {d2i_X509_NAME(nullptr, &at, static_cast<long>(der.size())), X509_NAME_free};
}

std::string text_of(const X509_NAME& name) {
  const std::unique_ptr<X509, void (*)(X509*)> certificate(X509_new(), X509_free);
  check(certificate && X509_set_subject_name(certificate.get(), &name) == 1);
  return base::tls::subject_of(*certificate);
}

// Kinds and values of the parts, the latter in UTF-8. nullopt: a value isn't text.
std::optional<std::multiset<std::pair<int, std::string>>> organization(const X509_NAME& name) {
  std::multiset<std::pair<int, std::string>> out;
  for (int i = 0; i < X509_NAME_entry_count(&name); ++i) {
    const X509_NAME_ENTRY* entry = X509_NAME_get_entry(&name, i);
    const int kind = OBJ_obj2nid(X509_NAME_ENTRY_get_object(entry));
    unsigned char* value = nullptr;
    const int length = ASN1_STRING_to_UTF8(&value, X509_NAME_ENTRY_get_data(entry));
    if (length < 0) return std::nullopt;
    const std::string text(reinterpret_cast<char*>(value), static_cast<size_t>(length));
    OPENSSL_free(value);
    if (kind == NID_organizationName || kind == NID_organizationalUnitName || kind == NID_domainComponent)
      out.emplace(kind, text);
  }
  return out;
}

bool run(BytesView input) {
  base::FuzzReader reader(input);
  const NamePtr one = parse(reader.part()), two = parse(reader.rest());
  if (!one || !two) return false;
  const std::string first = text_of(*one), second = text_of(*two);
  const bool same = server::users::same_organization(first, second);
  check(same == server::users::same_organization(second, first));
  const auto ours = organization(*one), theirs = organization(*two);
  if (!ours || !theirs) return false;
  if (!first.empty() && !second.empty()) check(same == (!ours->empty() && *ours == *theirs));
  return true;
}

Bytes der(std::initializer_list<std::pair<const char*, std::string_view>> parts) {
  const NamePtr name(X509_NAME_new(), X509_NAME_free);
  for (const auto& [kind, value] : parts) {
    const bool joined = kind[0] == '+';  // with the part before it
    check(X509_NAME_add_entry_by_txt(name.get(), kind + joined, MBSTRING_UTF8,
                                     reinterpret_cast<const unsigned char*>(value.data()), static_cast<int>(value.size()), -1,
                                     joined ? -1 : 0) == 1);
  }
  unsigned char* out = nullptr;
  const int length = i2d_X509_NAME(name.get(), &out);
  check(length > 0);
  Bytes bytes(reinterpret_cast<char*>(out), static_cast<size_t>(length));
  OPENSSL_free(out);
  return bytes;
}

std::vector<Bytes> seeds() {
  const Bytes plain = der({{"C", "DE"}, {"O", "Example"}, {"OU", "Data"}, {"CN", "db1"}}),
              other = der({{"O", "Example"}, {"OU", "Data"}, {"CN", "db2"}}),
              quoted = der({{"O", "Example,OU=Data"}, {"CN", "a+O=b"}, {"OU", "\xc3\xa9 #\\\"<>;"}, {"DC", "a,b"}}),
              joined = der({{"DC", "net"}, {"DC", "example"}, {"CN", "db1"}, {"+OU", " Data "}}),
              nobody = der({{"CN", "ann"}, {"emailAddress", "ann@example.net"}});
  std::vector<Bytes> out;
  for (const auto& [one, two] : {std::pair(plain, other), {plain, quoted}, {quoted, quoted}, {joined, plain}, {nobody, nobody}}) {
    out.push_back(base::FuzzWriter().part(one).rest(two));
  }
  return out;
}

const base::FuzzTarget target("subject", run, seeds);

}  // namespace
