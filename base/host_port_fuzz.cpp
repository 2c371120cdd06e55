// The input is any text. It is refused, or is a host and a port whose usual spelling says the same.
#include "base/fuzz_target.h"
#include "base/host_port.h"

namespace {

bool run(base::BytesView input) {
  const auto parsed = base::parse_host_port(input);
  if (!parsed) return false;
  base::check(!parsed->host.empty() && parsed->port > 0);
  const bool brackets = parsed->host.find(':') != std::string::npos;
  const std::string host = brackets ? "[" + parsed->host + "]" : parsed->host;
  base::check(base::parse_host_port(host + ":" + std::to_string(parsed->port)) == parsed);
  return true;
}

std::vector<base::Bytes> seeds() {
  return {"db1.example:27017", "[::1]:27017", "10.0.0.1:65535", "[fe80::1%eth0]:1"};
}

const base::FuzzTarget target("host_port", run, seeds);

}  // namespace
