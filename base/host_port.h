// "db1.example:27017", "10.0.0.1:27018", "[::1]:27017": where a server is reached.
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

// nullopt where a host or a port from 1 to 65535 is missing.
std::optional<HostPort> parse_host_port(std::string_view text);

}  // namespace base
