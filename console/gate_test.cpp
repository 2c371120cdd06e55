#include "console/gate.h"

#include <catch2/catch.hpp>

namespace console {

TEST_CASE("the gate answers to its own name and port alone") {
  const Gate gate(8321);
  CHECK(gate.host_is_ours("127.0.0.1:8321"));
  CHECK(gate.host_is_ours("localhost:8321"));
  for (const char* foreign : {"", "127.0.0.1", "localhost", "127.0.0.1:8322", "evil.example:8321", "127.0.0.1:8321.evil.example",
                              "127.0.0.1:83210", " 127.0.0.1:8321", "[::1]:8321"})
    CHECK_FALSE(gate.host_is_ours(foreign));
}

TEST_CASE("the gate takes no request of another page") {
  const Gate gate(8321);
  CHECK(gate.origin_is_ours(""));
  CHECK(gate.origin_is_ours("http://127.0.0.1:8321"));
  for (const char* foreign : {"null", "https://127.0.0.1:8321", "http://127.0.0.1:3000", "http://evil.example:8321", "http://"})
    CHECK_FALSE(gate.origin_is_ours(foreign));
}

TEST_CASE("the gate knows its cookie among others") {
  const Gate gate(8321), other(8322);
  const std::string set = gate.set_cookie();
  const std::string cookie = set.substr(0, set.find(';'));
  CHECK(set.find("; HttpOnly; SameSite=Strict") != set.npos);
  CHECK(gate.cookie_is_right(cookie));
  CHECK(gate.cookie_is_right("theme=dark; " + cookie + "; lang=en"));
  CHECK_FALSE(gate.cookie_is_right(""));
  CHECK_FALSE(gate.cookie_is_right(cookie + "0"));
  CHECK_FALSE(gate.cookie_is_right(cookie.substr(0, cookie.find('=') + 1)));
  CHECK_FALSE(gate.cookie_is_right("x" + cookie));
  CHECK_FALSE(other.cookie_is_right(cookie));
}

TEST_CASE("the gate makes other secrets for each process") {
  const Gate one(8321), other(8321);
  CHECK(one.token().size() == 64);
  CHECK(one.token() != other.token());
  CHECK(one.token() != one.csrf());
  CHECK(one.token_is_right(one.token()));
  CHECK_FALSE(one.token_is_right(other.token()));
  CHECK_FALSE(one.token_is_right(""));
  CHECK(one.csrf_is_right(one.csrf()));
  CHECK_FALSE(one.csrf_is_right(one.token()));
}

}  // namespace console
