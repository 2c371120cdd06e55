// A HostPort is the address of a server: "db1.example:27017", "10.0.0.1:27018" or "[::1]:27017".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace base {

struct HostPort {
  std::string host;  // without brackets
  uint16_t port = 0;
  bool operator==(const HostPort&) const = default;
};

// Returns nullopt where the host or a port from 1 to 65535 is missing.
std::optional<HostPort> parse_host_port(std::string_view text);

}  // namespace base
