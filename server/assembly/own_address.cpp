#include "server/assembly/own_address.h"

#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <set>

#include "server/core/options.h"

namespace server {
namespace {

std::string address_of(const sockaddr* address) {
  char text[NI_MAXHOST] = "";
  const socklen_t bytes = address->sa_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  if (::getnameinfo(address, bytes, text, sizeof text, nullptr, 0, NI_NUMERICHOST) != 0) return {};
  return text;
}

bool is_internet(const sockaddr* address) {
  return address && (address->sa_family == AF_INET || address->sa_family == AF_INET6);
}

std::set<std::string> addresses_of_machine() {
  std::set<std::string> found;
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return found;
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owned(list, ::freeifaddrs);
  for (const ifaddrs* at = list; at; at = at->ifa_next) {
    if (is_internet(at->ifa_addr)) found.insert(address_of(at->ifa_addr));
  }
  return found;
}

bool is_loopback(const std::string& host) {
  return host == "localhost" || host.starts_with("127.") || host == "::1";
}

}  // namespace

bool leads_here(const std::string& host, const Options& options) {
  const size_t colon = host.rfind(':');
  if (colon == host.npos || host.substr(colon + 1) != std::to_string(options.port)) return false;
  std::string name = host.substr(0, colon);
  if (name.starts_with('[') && name.ends_with(']')) name = name.substr(1, name.size() - 2);
  if (is_loopback(name)) return true;
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  if (::getaddrinfo(name.c_str(), nullptr, &hints, &list) != 0) return false;
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owned(list, ::freeaddrinfo);
  const auto ours = addresses_of_machine();
  for (const addrinfo* at = list; at; at = at->ai_next) {
    if (!is_internet(at->ai_addr)) continue;
    const std::string address = address_of(at->ai_addr);
    if (is_loopback(address) || ours.contains(address)) return true;
  }
  return false;
}

std::string own_host(const Options& options) {
  bool loopback_only = true;
  for (const std::string& address : options.bind_ip) {
    if (!address.starts_with("/")) loopback_only = loopback_only && is_loopback(address);
  }
  char name[256] = "localhost";
  if (!loopback_only) ::gethostname(name, sizeof name - 1);
  return std::string(name) + ":" + std::to_string(options.port);
}

}  // namespace server
