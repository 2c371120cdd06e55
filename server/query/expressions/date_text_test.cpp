#include "server/query/expressions/date_text.h"

#include <catch2/catch.hpp>

#include "bson/json.h"

using namespace server::query;

namespace {

// Returns the moment as Extended JSON has it, or nothing.
std::string moment(std::string_view text) {
  const auto read = read_date_text(text);
  if (!read) return "";
  return bson::to_json(bson::Value(bson::Date{read->local.time_since_epoch().count()}));
}

std::string same_as(std::string_view text) {
  return bson::to_json(bson::Value(bson::date_from_string(text).value()));
}

}  // namespace

TEST_CASE("Dates are read as people write them", "[dates]") {
  const std::string day = same_as("2017-07-04T00:00:00Z");
  for (const char* text : {"July 4, 2017", "July 4th, 2017", "4 July 2017", "4th of July 2017", "Jul 4 2017", "4-Jul-2017",
                           "Tuesday, 4 July 2017", "Tue, 4 Jul 2017", "7/4/2017", "7/4/17", "04-07-2017", "4.7.2017", "20170704",
                           "2017185", "2017-185", "2017-W27-2", "2017W272", "2017/07/04"}) {
    INFO(text);
    CHECK(moment(text) == day);
  }
}

TEST_CASE("A time of day and an offset stand behind the date", "[dates]") {
  const std::string noon = same_as("2017-07-04T12:39:30Z");
  for (const char* text :
       {"2017-07-04 12:39:30", "2017-07-04 12:39:30 UTC", "2017-07-04T12:39:30 GMT", "July 4th, 2017 12:39:30",
        "2017-07-04 13:39:30 BST", "2017-07-04 08:39:30 -0400", "2017-07-04 18:09:30 +05:30", "20170704T123930",
        "2017-07-04 12:39:30 pm", "Tue, 4 Jul 2017 12:39:30 +0000", "2017-07-04 08:39:30 America/New_York"}) {
    INFO(text);
    CHECK(moment(text) == noon);
  }
  CHECK(moment("July 4th, 2017 11am") == same_as("2017-07-04T11:00:00Z"));
  CHECK(moment("July 4th, 2017 12am") == same_as("2017-07-04T00:00:00Z"));
  CHECK(moment("2017-07-04 24:00:00") == same_as("2017-07-05T00:00:00Z"));
  CHECK(moment("2017-07-04 12:39:30.5") == same_as("2017-07-04T12:39:30.500Z"));
  CHECK(read_date_text("2017-07-04 12:39:30 +0000")->has_offset);
  CHECK_FALSE(read_date_text("2017-07-04 12:39:30")->has_offset);
}

TEST_CASE("a text that is no whole date is not read", "[dates]") {
  for (const char* text : {"",
                           "Friday",
                           "July 2017",
                           "2017-07",
                           "2017",
                           "July 4",
                           "12:30",
                           "2017-02-30",
                           "2017-13-01",
                           "31 June 2017",
                           "now",
                           "tomorrow",
                           "2017-07-04 extra",
                           "2017-07-04 25:00",
                           "2017-07-04 13pm",
                           "2017-366",
                           "2017-W54-1",
                           "2017-07-04 Nowhere/Land",
                           "2017-07-04 +99",
                           "+0500",
                           "4/31/2017",
                           "2017-07-04 12:00 UTC UTC",
                           "2017-07-04 2018-07-04",
                           "\xff\xfe"}) {
    INFO(text);
    CHECK(moment(text).empty());
  }
}
