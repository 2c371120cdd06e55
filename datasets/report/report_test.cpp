#include <catch2/catch.hpp>

#include "bson/builder.h"
#include "bson/json.h"
#include "bson/path.h"
#include "datasets/replay/outcome.h"
#include "datasets/report/figures.h"
#include "datasets/report/page.h"
#include "datasets/report/plot.h"
#include "datasets/report/report.h"
#include "datasets/test_support.h"

namespace datasets::report {
namespace {

replay::Outcome sample() {
  replay::Outcome report;
  report.source = "garden & <co>";
  report.kind = "wikipedia";
  report.label = "dedup on";
  report.documents = 2000;
  report.logical_bytes = 40'000;
  report.load_seconds = 0.5;
  report.verified.emplace();
  report.verified->documents = 2000;
  report.samples = {{0.1, 200, 4000, 1 << 20, 10, 5, 2, 3000, 2000}, {0.5, 2000, 40'000, 2 << 20, 100, 0, 20, 40'000, 9000}};
  report.server_status = bson::json(R"({dedup: {storedBytes: 4000, index: {bytes: 24000, records: 2000}, queue: {records: 0},
      oplog: {rawBytes: 44000, forwardBytes: 4400, forwardBatches: 3, forwardZstdBytes: 2200},
      sourceCache: {hits: 75, misses: 25}, hops: {reads: 9, mean: 1.5, max: 16, quantiles: {p50: 1,
      p90: 4, p99: 9}}}})");
  report.storage_bytes = 2000;
  report.files.emplace();
  report.files->data_bytes = 2500;
  report.files->oplog_bytes = 600;
  report.files->journal_bytes = 700;
  return report;
}

TEST_CASE("the report's numbers are those of the run and the server") {
  const bson::Document report = sample().to_document();
  CHECK(number(report, "documents") == 2000);
  CHECK(number(report, "verified") == 2000);
  CHECK(number(report, "logicalBytes") == 40'000);
  CHECK(number(report, "dedupBytes") == 4000);
  CHECK(number(report, "blockBytes") == 2000);
  CHECK(number(report, "fileBytes") == 2500);
  CHECK(number(report, "oplogBytes") == 600);
  CHECK(number(report, "indexBytesPerRecord") == 12);
  CHECK(number(report, "insertsPerSecond") == 4000);
  CHECK(number(report, "ratios.dedup") == 10);
  CHECK(number(report, "ratios.block") == 20);
  CHECK(number(report, "ratios.file") == 16);
  CHECK(number(report, "oplog.forwardZstdBytes") == 2200);
  CHECK(number(report, "residentBytesMax") == 2 << 20);
}

TEST_CASE("where documents were replaced, what counts is what is there") {
  replay::Outcome run = sample();
  run.replaced = 100;
  run.verified->bytes = 10'000;
  const bson::Document report = run.to_document();
  CHECK(number(report, "logicalBytes") == 10'000);
  CHECK(number(report, "writtenBytes") == 40'000);
  CHECK(number(report, "ratios.file") == 4);
}

TEST_CASE("a server without dedup still gets a report") {
  replay::Outcome run = sample();
  run.server_status = bson::Document();
  run.files.reset();
  run.db_stats = bson::json("{dataSize: 40000, totalSize: 8000}");
  const bson::Document report = run.to_document();
  CHECK(number(report, "dedupBytes") == 40'000);
  CHECK(number(report, "fileBytes") == 8000);
  CHECK(number(report, "indexBytesPerRecord") == 0);
  CHECK(as_text(report, nullptr).find("2,000") != std::string::npos);
}

TEST_CASE("the sentence at the top tells of documents that did not come back") {
  replay::Outcome run = sample();
  run.verified->missing = 2;
  CHECK(meaning(run.to_document()).find("but 2 documents did not come back") != std::string::npos);
  run.verified.reset();
  CHECK(meaning(run.to_document()).find("nothing was read back") != std::string::npos);
}

TEST_CASE("JSON reads back as the same report") {
  const bson::Document report = sample().to_document();
  const auto again = bson::from_json(as_json(report));
  REQUIRE(again.ok());
  CHECK(as_json(again.value()) == as_json(report));
  CHECK(number(again.value(), "insertsPerSecond") == 4000);
}

TEST_CASE("text and HTML show both runs, and the page fetches nothing") {
  replay::Outcome off = sample();
  off.label = "dedup off";
  const bson::Document report = sample().to_document(), beside = off.to_document();
  const std::string text = as_text(report, &beside);
  CHECK(text.find("dedup on") != std::string::npos);
  CHECK(text.find("dedup off") != std::string::npos);
  CHECK(text.find("75.0 % of 100") != std::string::npos);
  CHECK(text.find("p50 1, p90 4, p99 9, most 16") != std::string::npos);
  const std::string html = as_html(report, &beside);
  CHECK(html.find("garden &amp; &lt;co&gt;") != std::string::npos);
  CHECK(html.find("Hops to decode") != std::string::npos);
  CHECK(html.find("Resident memory") != std::string::npos);
  CHECK(html.find("Latency of an insert command") != std::string::npos);
  CHECK(html.find("Ratio of dedup") != std::string::npos);
  for (const std::string& form : {text, html})
    CHECK(form.find("The server stored 2,000 documents, 40.0 KB of BSON, in files of 2.50 KB: 16.0 times less; it took 4,000 "
                    "documents a second, and every document came back byte for byte.") != std::string::npos);
  CHECK(test::fetched_by(html).empty());
}

TEST_CASE("curves are JSON in the page, whatever their names") {
  const std::string name = "</script><script>alert(1)</script>\"\\";
  const std::string html = plot({{name, {{0, 1}, {0.5, 2}}}, {"other", {{0.25, 3e9}}}},
                                {.x = {.unit = Unit::seconds}, .y = {.label = "B", .unit = Unit::bytes}});
  const std::string before = "<script type=\"application/json\" class=\"plot\">", after = "</script>";
  REQUIRE(html.size() > before.size() + after.size());
  CHECK(html.find(after) == html.size() - after.size());
  const auto read = bson::from_json(html.substr(before.size(), html.size() - before.size() - after.size()));
  REQUIRE(read.ok());
  CHECK(bson::value_at(read.value(), "series.0.name").as_string() == name);
  CHECK(number(read.value(), "series.0.x.1") == 0.5);
  CHECK(number(read.value(), "series.1.y.0") == 3e9);
  CHECK(text(read.value(), "x.unit") == "seconds");
  CHECK(text(read.value(), "y.unit") == "bytes");
}

TEST_CASE("curves are drawn in order of x, and not at all where there is nothing to see") {
  const std::string html = plot({{"a", {{3, 30}, {-1, 5}, {1, 10}, {0, 7}}}}, {.x = {.log = true}});
  CHECK(html.find("\"x\": [1.0, 3.0], \"y\": [10.0, 30.0]") != std::string::npos);
  CHECK(plot({}, {}).empty());
  CHECK(plot({{"a", {}}}, {}).empty());
  CHECK(plot({{"a", {{1, 0}, {2, 0}}}}, {}).empty());
}

TEST_CASE("bars are as long as their values, against the longest") {
  const std::string html = bars({{"<a>", 50, "fifty", 20}, {"b", 100, "hundred", 0}, {"c", 0, "none", 0}});
  CHECK(html.find("&lt;a&gt;") != std::string::npos);
  for (const char* width : {"width: 50.00%", "width: 40.00%", "width: 100.00%", "width: 0.00%"})
    CHECK(html.find(width) != std::string::npos);
  CHECK(bars({{"a", 0, "", 0}}).find("width: 0.00%") != std::string::npos);
}

TEST_CASE("files of the journal and the oplog are counted apart") {
  const test::Folder folder;
  folder.write("collection-1.wt", std::string(100, 'x'));
  folder.write("sub/index-2.wt", std::string(50, 'x'));
  folder.write("oplog-3.wt", std::string(7, 'x'));
  folder.write("collection-9.wt", std::string(5, 'x'));
  folder.write("journal/WiredTigerLog.0000000001", std::string(1000, 'x'));
  folder.write("WiredTigerPreplog.0000000001", std::string(11, 'x'));
  const auto measured = replay::measure(folder.path(), "collection-9.wt");
  CHECK(measured.data_bytes == 150);
  CHECK(measured.oplog_bytes == 12);
  CHECK(measured.journal_bytes == 1011);
  REQUIRE(measured.files.size() == 2);
  CHECK(measured.files[0].name == "collection-1.wt");
}

}  // namespace
}  // namespace datasets::report
