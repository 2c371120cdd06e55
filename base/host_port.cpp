#include "base/host_port.h"

#include <charconv>

namespace base {

std::optional<HostPort> parse_host_port(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == text.npos) return std::nullopt;
  std::string_view host = text.substr(0, colon), digits = text.substr(colon + 1);
  if (host.starts_with('[')) {
    if (!host.ends_with(']')) return std::nullopt;
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != host.npos) {
    return std::nullopt;
  }
  uint16_t port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (host.find_first_of("[]") != host.npos) return std::nullopt;
  if (host.empty() || error != std::errc() || end != digits.data() + digits.size() || port == 0) return std::nullopt;
  return HostPort{std::string(host), port};
}

}  // namespace base
