#include "base/host_port.h"

#include <catch2/catch.hpp>

namespace base {

TEST_CASE("a host and its port are taken apart") {
  CHECK(parse_host_port("db1.example:27017") == HostPort{"db1.example", 27017});
  CHECK(parse_host_port("127.0.0.1:1") == HostPort{"127.0.0.1", 1});
  CHECK(parse_host_port("[fe80::1]:65535") == HostPort{"fe80::1", 65535});
}

TEST_CASE("what is no host with a port has none") {
  for (const char* text :
       {"",        ":",     "host",   "host:", ":27017", "host:0", "host:65536", "host:27o17", "host:+1", "host:-1",
        "host: 1", "[::1]", "[::1:5", "[]:5",  "::1:5",  "a:b:5",  "[[::1]:5",   "[::1]]:5",   "a]:5",    "[]x[]:5"}) {
    INFO(text);
    CHECK_FALSE(parse_host_port(text));
  }
}

}  // namespace base
