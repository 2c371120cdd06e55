// The subject of a certificate, as RFC 2253 writes it: "CN=db1,OU=Data,O=Example,C=DE".
#pragma once

#include <string_view>

namespace server::users {

// Returns whether two certificates belong to the same set: their O, OU and DC are the same, and at least one of these is there.
bool same_organization(std::string_view subject, std::string_view other);

}  // namespace server::users
