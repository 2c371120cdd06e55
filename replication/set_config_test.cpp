#include <catch2/catch.hpp>

#include "base/testing.h"
#include "bson/json.h"
#include "replication/set_config.h"

using namespace replication;
using bson::json;

namespace {

int code_of(const std::string& config) {
  return base::testing::code_of([&] { parse_set_config(json(config)); });
}

std::string with_member(const std::string& fields) {
  return R"({_id: "rs", members: [{_id: 0, host: "a:1")" + fields + "}]}";
}

SetConfig of(const std::string& text) {
  return parse_set_config(json(text));
}

int reconfig_code(const SetConfig& now, const SetConfig& next, bool force = false) {
  return base::testing::code_of([&] { check_reconfig(now, next, force); });
}

}  // namespace

TEST_CASE("a configuration gets its defaults, and reads back as what it shows") {
  const SetConfig config = of(R"({_id: "rs", members: [{_id: 3, host: "db", tags: {dc: "east"}}]})");
  CHECK(config.version == 1);
  CHECK(config.members.front().host == "db:27017");
  CHECK(config.election_timeout_ms == 800);
  CHECK(config.members.front().electable());
  const bson::Document shown = config.document();
  CHECK(bson::to_json(parse_set_config(shown).document()) == bson::to_json(shown));
}

TEST_CASE("a configuration that can't work is refused as mongod refuses it") {
  CHECK(code_of(with_member("")) == 0);
  CHECK(code_of(with_member(", arbiterOnly: true")) == 93);  // nobody to elect
  CHECK(code_of(with_member(", priority: 1001")) == 93);
  CHECK(code_of(with_member(", priority: 1, hidden: true")) == 93);
  CHECK(code_of(with_member(", votes: 0")) == 93);
  CHECK(code_of(with_member(", votes: 2")) == 93);
  CHECK(code_of(with_member(", secondaryDelaySecs: 5")) == 93);
  CHECK(code_of(with_member(", buildIndexes: false")) == 93);
  CHECK(code_of(with_member(", tags: {dc: 1}")) == 14);
  CHECK(code_of(with_member(", horizons: {x: \"y:1\"}")) == 93);
  CHECK(code_of(with_member(", nonsense: 1")) == 40415);
  CHECK(code_of(R"({_id: "rs"})") == 40414);
  CHECK(code_of(R"({members: [{_id: 0, host: "a:1"}]})") == 40414);
  CHECK(code_of(R"({_id: "rs", members: []})") == 93);
  CHECK(code_of(R"({_id: "rs", members: [{_id: 0, host: "a:99999"}]})") == 9);
  CHECK(code_of(R"({_id: "rs", members: [{_id: 256, host: "a:1"}]})") == 93);
  CHECK(code_of(R"({_id: "rs", version: 0, members: [{_id: 0, host: "a:1"}]})") == 93);
  CHECK(code_of(R"({_id: "rs", members: [{_id: 0, host: "a:1"}, {_id: 0, host: "b:1"}]})") == 93);
  CHECK(code_of(R"({_id: "rs", members: [{_id: 0, host: "a:1"}, {_id: 1, host: "a:1"}]})") == 93);
  CHECK(code_of(R"({_id: "rs", members: [{_id: 0, host: "a:1"}, {_id: 1, host: "localhost:1"}]})") == 93);
  CHECK(code_of(R"({_id: "rs", protocolVersion: 0, members: [{_id: 0, host: "a:1"}]})") == 93);
  CHECK(code_of(R"({_id: "rs", members: [{_id: 0, host: "a:1"}], settings: {getLastErrorModes: {m: {dc: 1}}}})") == 93);
  CHECK(code_of(R"({_id: "rs", members: [{_id: 0, host: "a:1"}], settings: {getLastErrorDefaults: {w: "majority"}}})") == 93);
  CHECK(code_of(R"({_id: "rs", members: [{_id: 0, host: "a:1"}], settings: {heartbeatTimeoutSecs: 0}})") == 2);
}

TEST_CASE("eight voters are too many, seven are not") {
  for (const int voters : {7, 8}) {
    std::string members;
    for (int i = 0; i < voters; ++i) {
      members += (i ? "," : "") + std::string("{_id: ") + std::to_string(i) + ", host: \"h" + std::to_string(i) + ":1\"}";
    }
    CHECK(code_of("{_id: \"rs\", members: [" + members + "]}") == (voters == 7 ? 0 : 93));
  }
}

TEST_CASE("a reconfiguration goes one voter and one version at a time") {
  const SetConfig one = of(R"({_id: "rs", version: 4, members: [{_id: 0, host: "a:1"}]})");
  const SetConfig two = of(R"({_id: "rs", version: 5, members: [{_id: 0, host: "a:1"}, {_id: 1, host: "b:1"}]})");
  const SetConfig three =
      of(R"({_id: "rs", version: 5, members: [{_id: 0, host: "a:1"}, {_id: 1, host: "b:1"}, {_id: 2, host: "c:1"}]})");
  CHECK(reconfig_code(one, two) == 0);
  CHECK(reconfig_code(one, three) == 103);
  CHECK(reconfig_code(one, three, true) == 0);
  CHECK(reconfig_code(one, one) == 103);
  CHECK(reconfig_code(two, one) == 103);
  CHECK(reconfig_code(one, of(R"({_id: "other", version: 5, members: [{_id: 0, host: "a:1"}]})")) == 103);
  CHECK(reconfig_code(one, of(R"({_id: "rs", version: 5, members: [{_id: 1, host: "a:1"}]})")) == 103);
}
