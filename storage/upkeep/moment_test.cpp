#include "storage/upkeep/moment.h"

#include <catch2/catch.hpp>

#include "base/error.h"

using storage::moment_text;
using storage::parse_moment;
using storage::Stamp;

TEST_CASE("a moment is a timestamp, or the end of a second") {
  CHECK(parse_moment("1700000000:5") == ((Stamp{1700000000} << 32) | 5));
  CHECK(parse_moment("4294967295:4294967295") == ~Stamp{0});
  CHECK(moment_text(parse_moment("1700000000:5")) == "1700000000:5");
  const Stamp whole_second = (Stamp{1709208000} << 32) | 0xffffffff;
  for (const char* text : {"2024-02-29T12:00:00Z", "2024-02-29T13:00:00+01:00", "2024-02-29T12:00:00.000Z", "2024-02-29T12:00"})
    CHECK(parse_moment(text) == whole_second);
}

TEST_CASE("what is no moment is refused") {
  for (const char* text : {"", ":", "1:", ":1", "0:1", "1:2:3", "1:-2", "-1:2", "4294967296:1", "1:4294967296", "yesterday", "17",
                           "2024-02-30T00:00:00Z", "2024-02-29T12:00:00.5Z", "1969-12-31T00:00:00Z", "2200-01-01T00:00:00Z"}) {
    INFO(text);
    CHECK_THROWS_AS(parse_moment(text), base::OperationError);
  }
}
