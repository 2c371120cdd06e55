#include "bench/report/report.h"

#include <catch2/catch.hpp>

#include "bson/path.h"

using namespace bench;

namespace {

Report example() {
  Report report;
  report.title = "A <report>";
  report.command = "palimpsest bench example";
  report.figures.push_back({"6.1",
                            "Ratio",
                            {{"wiki", {{"dedup", 20, 9, ""}, {"zstd", 4, 0, "four"}}}},
                            {{"over time", "seconds", "MB", false, {{"on", {{0, 1}, {2, 5}}}, {"off", {{0, 2}, {2, 4}}}}}},
                            {{"sizes", {"", "MB"}, {{"wiki", "17"}}}},
                            {"a note"}});
  report.goals = {{"ratio", "x", 29, 28, false, "wiki"}, {"latency", "µs", 70, 60, true, "p99"}};
  report.claims = {{"6.1", "it is large", "it is small", false}};
  return report;
}

}  // namespace

TEST_CASE("a report's document has figures by number, and goals that say whether they are met") {
  const bson::Document document = to_document(example());
  const bson::DocumentView figures = document.find("figures").as_document();
  REQUIRE(figures.has("6.1"));
  REQUIRE(figures["6.1"].as_document()["title"].as_string() == "Ratio");
  const bson::DocumentView goals = document.find("goals").as_document();
  REQUIRE(goals.count() == 2);
  const bson::DocumentView ratio = goals["0"].as_document(), latency = goals["1"].as_document();
  REQUIRE(ratio["name"].as_string() == "ratio");
  REQUIRE(ratio["measured"].to_int64() == 29);
  REQUIRE(ratio["reach"].to_int64() == 28);
  REQUIRE(ratio["met"].truthy());
  REQUIRE_FALSE(latency["met"].truthy());
  REQUIRE_FALSE(bson::value_at(document, "claims.0.holds").truthy());
}

TEST_CASE("a report is a text and a page that fetches nothing") {
  const std::string text = as_text(example()), html = as_html(example());
  for (const char* wanted : {"Ratio", "9 → 20", "four", "a note", "not met", "does not hold here"}) {
    INFO(wanted);
    REQUIRE(text.find(wanted) != std::string::npos);
    REQUIRE(html.find(wanted) != std::string::npos);
  }
  REQUIRE(text.find("seconds  on  off") != std::string::npos);
  REQUIRE(html.find("<report>") == std::string::npos);
  REQUIRE(html.find("class=\"plot\"") != std::string::npos);
  REQUIRE(html.find("src=") == std::string::npos);
  REQUIRE(html.find("<link") == std::string::npos);
}

TEST_CASE("numbers keep three digits") {
  REQUIRE(number_text(0.012345) == "0.0123");
  REQUIRE(number_text(4.5678) == "4.57");
  REQUIRE(number_text(123.4) == "123");
  REQUIRE(number_text(-12345.6) == "-12,346");
}
