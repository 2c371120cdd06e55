#include "console/gate.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/random.h"

namespace console {
namespace {

std::string secret() {
  base::Bytes bytes;
  for (int i = 0; i < 4; ++i) base::append_le(bytes, base::entropy64());
  return base::to_hex(bytes);
}

// The time that it takes doesn't tell where the two differ.
bool same(std::string_view said, std::string_view expected) {
  if (said.size() != expected.size()) return false;
  unsigned char different = 0;
  for (size_t i = 0; i < said.size(); ++i) different |= static_cast<unsigned char>(said[i] ^ expected[i]);
  return different == 0;
}

}  // namespace

Gate::Gate(int port)
    : port_(port),
      cookie_name_("palimpsest_console_" + std::to_string(port)),
      token_(secret()),
      session_(secret()),
      csrf_(secret()) {}

bool Gate::host_is_ours(std::string_view host) const {
  const std::string port = ":" + std::to_string(port_);
  return host == "127.0.0.1" + port || host == "localhost" + port;
}

bool Gate::origin_is_ours(std::string_view origin) const {
  constexpr std::string_view scheme = "http://";
  return origin.empty() || (origin.substr(0, scheme.size()) == scheme && host_is_ours(origin.substr(scheme.size())));
}

bool Gate::token_is_right(std::string_view token) const {
  return same(token, token_);
}

bool Gate::cookie_is_right(std::string_view cookies) const {
  while (!cookies.empty()) {
    const size_t end = std::min(cookies.find(';'), cookies.size());
    std::string_view one = cookies.substr(0, end);
    cookies.remove_prefix(std::min(end + 1, cookies.size()));
    while (!one.empty() && one.front() == ' ') one.remove_prefix(1);
    const size_t equals = one.find('=');
    if (equals == one.npos || one.substr(0, equals) != cookie_name_) continue;
    if (same(one.substr(equals + 1), session_)) return true;
  }
  return false;
}

bool Gate::csrf_is_right(std::string_view header) const {
  return same(header, csrf_);
}

std::string Gate::set_cookie() const {
  return cookie_name_ + "=" + session_ + "; Path=/; HttpOnly; SameSite=Strict";
}

}  // namespace console
