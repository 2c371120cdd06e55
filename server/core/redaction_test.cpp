#include "server/core/redaction.h"

#include <catch2/catch.hpp>

#include "bson/json.h"
#include "server/core/command.h"

namespace server {
namespace {

std::string shown(const std::string& command, const std::string& text) {
  const bson::Document body = bson::json(text);
  const Request request{command, "admin", body, {}};
  CHECK(has_secrets(request));
  return bson::to_json(without_secrets(request));
}

}  // namespace

TEST_CASE("passwords and what is said in a login are hidden") {
  CHECK(shown("createUser", "{createUser: 'ann', pwd: 'secret', roles: []}") ==
        R"({"createUser": "ann", "pwd": "xxx", "roles": []})");
  CHECK(shown("saslStart", "{saslStart: 1, mechanism: 'SCRAM-SHA-256', payload: BinData(0, 'YWI=')}") ==
        R"({"saslStart": 1, "mechanism": "SCRAM-SHA-256", "payload": "xxx"})");
  CHECK(shown("hello", "{hello: 1, speculativeAuthenticate: {saslStart: 1, payload: BinData(0, 'YWI='), db: 'admin'}}") ==
        R"({"hello": 1, "speculativeAuthenticate": {"saslStart": 1, "payload": "xxx", "db": "admin"}})");
  CHECK(shown("hello", "{hello: 1, speculativeAuthenticate: 'secret'}") == R"({"hello": 1, "speculativeAuthenticate": "xxx"})");
}

TEST_CASE("other commands have no secrets") {
  const bson::Document body = bson::json("{find: 'users', filter: {pwd: 1}}");
  CHECK_FALSE(has_secrets(Request{"find", "shop", body, {}}));
}

TEST_CASE("a redacted document keeps the names of its fields alone") {
  CHECK(redacted_json(bson::json("{find: 'orders', filter: {name: 'Ann', tags: ['a', {b: 1}]}, limit: 5}")) ==
        R"({"find":"###","filter":{"name":"###","tags":["###",{"b":"###"}]},"limit":"###"})");
  CHECK(redacted_json({}) == "{}");
}

}  // namespace server
