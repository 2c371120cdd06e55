#include "tests/cases/case_file.h"

#include <catch2/catch.hpp>

#include "bson/json.h"

using bson::json;
using tests::mismatch;
using tests::parse_cases;

TEST_CASE("A case file is sentences, commands and replies") {
  const auto cases = parse_cases(
      "# a comment\n## first\n{ping: 1}\n----\n{ok: 1}\n\nadmin {a: 1,\n b: 2}\n----\n{ok: 0,\n code: 59}\n\n## second\n{c: "
      "1}\n----\n{d: 1}\n");
  REQUIRE(cases.size() == 2);
  CHECK(cases[0].name == "first");
  REQUIRE(cases[0].exchanges.size() == 2);
  CHECK(cases[0].exchanges[1].db == "admin");
  CHECK(cases[0].exchanges[1].command == "{a: 1,\n b: 2}");
  CHECK(cases[0].exchanges[1].reply == "{ok: 0,\n code: 59}");
  CHECK(cases[1].exchanges[0].line == 14);
  const auto kept = parse_cases("## kept\n$db@{{id}} {find: 'c'}\n----\n{ok: 1}\n");
  CHECK(kept[0].exchanges[0].db == "$db@{{id}}");
  CHECK(kept[0].exchanges[0].command == "{find: 'c'}");
}

TEST_CASE("A case that asks for nothing is refused") {
  CHECK_THROWS(parse_cases("## empty\n"));
  CHECK_THROWS(parse_cases("## no reply\n{ping: 1}\n"));
  CHECK_THROWS(parse_cases("{ping: 1}\n----\n{ok: 1}\n"));
}

TEST_CASE("A case whose commands all get the same error is refused") {
  const auto exchange = [](const std::string& command, const std::string& reply) {
    return command + "\n----\n" + reply + "\n\n";
  };
  const std::string failed = exchange("{a: 1}", "{ok: 0, code: 1}");
  CHECK_THROWS(parse_cases("## case\n" + failed + failed + failed));
  CHECK(parse_cases("## case\n" + failed + failed).size() == 1);
  CHECK(parse_cases("## case\n" + failed + failed + failed + exchange("{b: 1}", "{ok: 1}")).size() == 1);
  CHECK(parse_cases("## case\n" + failed + failed + exchange("{b: 1}", "{ok: 0, code: 2}")).size() == 1);
}

TEST_CASE("Replies match by value, order and completeness") {
  CHECK(mismatch(json("{a: 1}"), json("{a: 1.0}")).empty());
  CHECK_FALSE(mismatch(json("{a: 1}"), json("{a: 2}")).empty());
  CHECK_FALSE(mismatch(json("{a: 1}"), json("{a: '1'}")).empty());
  CHECK_FALSE(mismatch(json("{a: 1}"), json("{a: 1, b: 2}")).empty());
  CHECK_FALSE(mismatch(json("{a: 1, b: 2}"), json("{b: 2, a: 1}")).empty());
  CHECK_FALSE(mismatch(json("{a: {b: [1, 2]}}"), json("{a: {b: [1, 3]}}")).empty());
  CHECK_FALSE(mismatch(json("{a: []}"), json("{a: {}}")).empty());
}

TEST_CASE("Wildcards allow what they say and no more") {
  CHECK(mismatch(json("{a: '*'}"), json("{a: {b: 1}}")).empty());
  CHECK(mismatch(json("{a: '*int'}"), json("{a: 1}")).empty());
  CHECK_FALSE(mismatch(json("{a: '*string'}"), json("{a: 1}")).empty());
  CHECK(mismatch(json("{a: '/E11000/'}"), json("{a: 'E11000 duplicate'}")).empty());
  CHECK_FALSE(mismatch(json("{a: '/E11000/'}"), json("{a: 'duplicate'}")).empty());
  CHECK(mismatch(json("{a: 1, '...': 1}"), json("{a: 1, b: 2}")).empty());
  CHECK_FALSE(mismatch(json("{a: 1, '...': 1}"), json("{b: 2}")).empty());
}

TEST_CASE("A value of a reply is kept, and put into later commands and replies") {
  tests::Kept kept;
  CHECK(tests::mismatch(json("{id: '*=id', n: {at: '*=at', size: '*=size'}}"),
                        json("{id: '3f9a', n: {at: Timestamp(1, 2), size: 7}}"), &kept)
            .empty());
  CHECK(json(tests::with_kept(R"({a: "{{id}}", b: "shop@{{id}}~1", c: "{{at}}", d: "{{size}} pages"})", kept)).bytes() ==
        json("{a: '3f9a', b: 'shop@3f9a~1', c: Timestamp(1, 2), d: '7 pages'}").bytes());
  CHECK(tests::with_kept("{a: 1}", kept) == "{a: 1}");
  CHECK_THROWS(tests::with_kept("{a: '{{other}}'}", kept));
  CHECK_THROWS(tests::with_kept("{a: '{{id'}", kept));
  CHECK_FALSE(tests::mismatch(json("{id: '*=id'}"), json("{other: 1}"), &kept).empty());
  CHECK(tests::mismatch(json("{id: '*=id'}"), json("{id: 1}")).empty());
}
