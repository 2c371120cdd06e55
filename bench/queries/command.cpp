// Measures scans, matches, groups, index builds, inserts with indexes, $text, $near and intersections of indexes on a server that
// it starts.
#include "bench/queries/command.h"

#include <fmt/format.h>

#include <chrono>

#include "bench/measure/clients.h"
#include "bench/measure/cpu_clock.h"
#include "bench/measure/interrupt.h"
#include "bench/measure/server.h"
#include "bench/options.h"
#include "bench/queries/collections.h"
#include "bench/sets/command.h"
#include "bson/builder.h"
#include "bson/json.h"

namespace bench::queries {
namespace {

constexpr double match_ns = 300, group_per_second = 1.5e6, scan_mb_per_second = 400, keys_per_second = 300e3;
constexpr double indexed_percent = 40, faster_than_scan = 10, faster_than_one_index = 1;

struct Settings {
  sets::Common common;
  std::string data;
  int64_t documents = 200'000, points = 1'000'000;
  size_t texts = 50'000;
  int laps = 5;
  bool synthetic = false, tiny = false;
};

Figure figure_of(const std::string& number, const std::string& title) {
  Figure figure;
  figure.number = number;
  figure.title = title;
  return figure;
}

constexpr char search[] = R"({aggregate: "texts", pipeline: [{$match: {$text: {$search: "coffee grinder"}}}, {$count: "n"}],
  cursor: {}})";
constexpr char search_by_scan[] = R"({aggregate: "texts", pipeline: [
  {$match: {text: {$regex: "coffee|grinder", $options: "i"}}}, {$count: "n"}], cursor: {}})";
constexpr char nearest[] = R"({aggregate: "points", pipeline: [
  {$geoNear: {near: {type: "Point", coordinates: [8.5, 47.4]}, distanceField: "d"}}, {$limit: 100}], cursor: {batchSize: 100}})";
constexpr char nearest_by_scan[] = R"({count: "points",
  query: {at: {$geoWithin: {$centerSphere: [[8.5, 47.4], 0.02]}}}, hint: {$natural: 1}})";
constexpr char three_indexes[] = R"({createIndexes: "inserts", indexes: [
  {key: {n: 1}, name: "n"}, {key: {key: 1, m: 1}, name: "key"}, {key: {text03: 1}, name: "text"}]})";

constexpr char pair[] = R"({count: "pairs", query: {a: 5, b: 7}})";
constexpr char pair_by_one[] = R"({count: "pairs", query: {a: 5, b: 7}, hint: "a"})";

class Bench {
 public:
  Bench(const Settings& settings, const Server& server, Report& report)
      : settings_(settings), server_(server), client_(server.host(), 1), report_(report) {}

  void documents() {
    const auto count = static_cast<double>(settings_.documents);
    const double bytes = static_cast<double>(insert(client_, "documents", settings_.documents, made_document));
    settle();
    Figure figure =
        figure_of("Q1", fmt::format("{} documents of {:.0f} bytes with 20 fields", settings_.documents, bytes / count));
    Table table{"", {"query", "ms", "ns a document"}, {}};
    const auto row = [&](const char* what, double seconds) {
      table.rows.push_back({what, fmt::format("{:.1f}", seconds * 1e3), fmt::format("{:.0f}", seconds * 1e9 / count)});
      return seconds;
    };
    const double one = row("count, one predicate on the second field", time(R"({count: "documents", query: {key: "none"}})"));
    const double three = row("count, three predicates: a number, a text, and the last field",
                             time(R"({count: "documents", query: {n: {$gte: 0}, text07: {$gte: ""}, last: {$lt: 0}}})"));
    const double group = row("$group by a text of which there are 1,000",
                             time(R"({aggregate: "documents", pipeline: [{$group: {_id: "$key", n: {$sum: 1}}}], cursor: {}})"));
    const double build = row("index build over a number", time_build());
    figure.notes.emplace_back("Each is a median of the laps, over a socket, of documents that are all in the cache.");
    figure.tables.push_back(std::move(table));
    report_.figures.push_back(std::move(figure));
    goal("scan of documents in the cache", "MB/s", bytes / 1e6 / one, scan_mb_per_second);
    goal("match of three predicates, beside one on the second field", "ns", (three - one) * 1e9 / count, match_ns, true);
    goal("$group by a text", "documents/s", count / group, group_per_second);
    goal("index build", "keys/s", count / build, keys_per_second);
  }

  void inserts() {
    const int64_t count = settings_.documents / 4;
    Figure figure = figure_of("Q2", fmt::format("{} inserts by thousands, with indexes and without", count));
    Table table{"", {"indexes beside _id", "inserts/s"}, {}};
    std::vector<double> none, three;
    for (int lap = 0; lap < settings_.laps; ++lap) {
      none.push_back(insert_rate(count, false));
      three.push_back(insert_rate(count, true));
    }
    table.rows = {{"none", fmt::format("{:.0f}", median(none))}, {"three", fmt::format("{:.0f}", median(three))}};
    figure.tables.push_back(std::move(table));
    report_.figures.push_back(std::move(figure));
    goal("inserts with three indexes, of those with none", "%", 100 * median(three) / median(none), indexed_percent);
  }

  void texts() {
    const Texts texts = insert_texts(client_, "texts", settings_.data, settings_.synthetic, settings_.texts);
    ask(R"({createIndexes: "texts", indexes: [{key: {text: "text"}, name: "text"}]})");
    settle();
    const double indexed = time(search);
    const double scanned = time(search_by_scan);
    beside("Q3", fmt::format("$text over {} of {} bytes ({})", texts.documents, texts.bytes, texts.source), "$text by the index",
           indexed, "$regex by a scan", scanned);
  }

  void points() {
    insert(client_, "points", settings_.points, made_point);
    ask(R"({createIndexes: "points", indexes: [{key: {at: "2dsphere"}, name: "at"}]})");
    settle();
    const double indexed = time(nearest);
    const double scanned = time(nearest_by_scan);
    beside("Q4", fmt::format("the 100 nearest of {} points", settings_.points), "$geoNear by the index", indexed,
           "$geoWithin by a scan", scanned);
  }

  void pairs() {
    const int64_t count = settings_.documents / 2;
    insert(client_, "pairs", count, made_pair);
    ask(R"({createIndexes: "pairs", indexes: [{key: {a: 1}, name: "a"}, {key: {b: 1}, name: "b"}]})");
    settle();
    const double both = time(pair);
    const double one = time(pair_by_one);
    beside("Q5", fmt::format("two equalities on {} documents, each true of 1 %", count), "two indexes, intersected", both,
           "one index", one, faster_than_one_index);
  }

 private:
  void settle() {
    if (!settings_.tiny) server_.wait_until_idle();
  }

  bson::Document ask(const std::string& command) {
    bson::Builder out;
    out.append_all(bson::json(command)).append("$db", database);
    return client_.ask(out.done());
  }

  double seconds_of(const std::string& command) {
    const auto begun = std::chrono::steady_clock::now();
    ask(command);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  }

  // The median of the laps, after one that isn't counted.
  double time(const std::string& command) {
    seconds_of(command);
    std::vector<double> laps;
    for (int lap = 0; lap < settings_.laps; ++lap) laps.push_back(seconds_of(command));
    return median(laps);
  }

  double time_build() {
    std::vector<double> laps;
    for (int lap = 0; lap < settings_.laps; ++lap) {
      laps.push_back(seconds_of(R"({createIndexes: "documents", indexes: [{key: {n: 1}, name: "n"}]})"));
      ask(R"({dropIndexes: "documents", index: "n"})");
    }
    return median(laps);
  }

  double insert_rate(int64_t count, bool indexed) {
    ask(R"({create: "inserts"})");
    if (indexed) ask(three_indexes);
    const auto begun = std::chrono::steady_clock::now();
    insert(client_, "inserts", count, made_document);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
    ask(R"({drop: "inserts"})");
    settle();
    return static_cast<double>(count) / seconds;
  }

  void beside(const char* number, const std::string& title, const char* by_index, double indexed, const char* by_scan,
              double scanned, double times = faster_than_scan) {
    Figure figure = figure_of(number, title);
    figure.tables.push_back(
        {"",
         {"query", "ms"},
         {{by_index, fmt::format("{:.2f}", indexed * 1e3)}, {by_scan, fmt::format("{:.2f}", scanned * 1e3)}}});
    report_.figures.push_back(std::move(figure));
    goal(fmt::format("{}, beside {}", by_index, by_scan), "times as fast", scanned / indexed, times);
  }

  void goal(const std::string& name, const std::string& unit, double measured, double reach, bool at_most = false) {
    report_.goals.push_back({name, unit, measured, reach, at_most, fmt::format("median of {}", settings_.laps)});
  }

  const Settings& settings_;
  const Server& server_;
  Clients client_;
  Report& report_;
};

int run(Settings& settings) {
  clean_up_when_interrupted();
  if (settings.tiny) {
    settings.documents = 2'000;
    settings.points = 2'000;
    settings.texts = 500;
    settings.laps = 1;
    settings.synthetic = true;
  }
  Report report;
  report.title = "Queries over a socket";
  report.command = fmt::format("palimpsest bench query --documents {} --points {} --texts {} --laps {}{}", settings.documents,
                               settings.points, settings.texts, settings.laps, settings.synthetic ? " --synthetic" : "");
  begin(report);
  const Server server(sets::server_of(settings.common), {"--wiredTigerCacheSizeGB", "2", "--quiet"}, settings.common.scratch);
  Bench bench(settings, server, report);
  bench.documents();
  bench.inserts();
  bench.texts();
  bench.points();
  bench.pairs();
  finish(report, settings.common.report_folder);
  return 0;
}

}  // namespace

Run add_options(CLI::App& parser) {
  auto settings = std::make_shared<Settings>();
  sets::add_common(parser, settings->common);
  CLI::Option* const tiny = parser.add_flag("--tiny", settings->tiny, "a few documents once, to see that it works");
  parser.add_option("--documents", settings->documents, "how many documents of 1 KB there are")
      ->capture_default_str()
      ->check(CLI::Range(int64_t{100}, int64_t{1'000'000}))
      ->excludes(tiny);
  parser.add_option("--points", settings->points, "how many points there are")
      ->capture_default_str()
      ->check(CLI::Range(int64_t{100}, int64_t{10'000'000}))
      ->excludes(tiny);
  parser.add_option("--texts", settings->texts, "how many texts there are, at most")
      ->capture_default_str()
      ->check(CLI::Range(size_t{100}, size_t{1'000'000}))
      ->excludes(tiny);
  parser.add_option("--laps", settings->laps, "how many laps each query has; figures are their medians")
      ->capture_default_str()
      ->check(CLI::Range(1, 100))
      ->excludes(tiny);
  parser.add_option("--data", settings->data, "the folder with the data sets");
  parser.add_flag("--synthetic", settings->synthetic, "made-up texts, even where the data set is there");
  return [settings] { return run(*settings); };
}

}  // namespace bench::queries
