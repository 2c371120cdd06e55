// This writes the replay report as a page: figures as tables, bars and plots.
#include <fmt/core.h>

#include <algorithm>
#include <tuple>

#include "bson/path.h"
#include "datasets/replay/progress.h"
#include "datasets/report/figures.h"
#include "datasets/report/page.h"
#include "datasets/report/plot.h"
#include "datasets/report/report.h"

namespace datasets::report {
namespace {

// Returns a report's samples of one field over time.
std::vector<std::pair<double, double>> samples_of(bson::DocumentView report, const char* field) {
  std::vector<std::pair<double, double>> points;
  const bson::ValueView samples = bson::value_at(report, "samples");
  if (!samples.is_array()) return points;
  for (const bson::Element& sample : samples.as_document()) {
    if (!sample.is_object()) continue;
    points.emplace_back(number(sample.as_document(), "seconds"), number(sample.as_document(), field));
  }
  return points;
}

// Returns how fast the values grow. It is the mean over windows long enough that one batch more or less makes no peak.
std::vector<std::pair<double, double>> growth_of(const std::vector<std::pair<double, double>>& points) {
  std::vector<std::pair<double, double>> out;
  if (points.empty()) return out;
  const double window = std::max(0.05, points.back().first / 200);
  auto [last_x, last_y] = std::pair(0.0, 0.0);
  for (const auto& [x, y] : points) {
    if (x - last_x < window) continue;
    out.emplace_back(x, (y - last_y) / (x - last_x));
    std::tie(last_x, last_y) = std::pair(x, y);
  }
  return out;
}

using Points = std::vector<std::pair<double, double>>;

// Curves of both runs, made from their samples by `points`.
template <class Make>
std::string plot_of(const std::string& title, bson::DocumentView report, const bson::Document* beside, Unit unit,
                    const Make& points) {
  auto curve = [&](bson::DocumentView from, const char* otherwise) {
    const std::string label = text(from, "label");
    return Curve{label.empty() ? std::string(otherwise) : label, points(from)};
  };
  std::vector<Curve> curves{curve(report, "this run")};
  if (beside) curves.push_back(curve(*beside, "the other"));
  const std::string drawn = plot(curves, {.x = {.unit = Unit::seconds}, .y = {.unit = unit}});
  return drawn.empty() ? drawn : "<h2>" + escaped(title) + "</h2>" + drawn;
}

std::string plot_of(const std::string& title, bson::DocumentView report, const bson::Document* beside, const char* field,
                    bool growth, Unit unit) {
  return plot_of(title, report, beside, unit, [&](bson::DocumentView from) {
    const Points points = samples_of(from, field);
    return growth ? growth_of(points) : points;
  });
}

// The logical bytes of what was written until then, against the bytes that the server kept of it.
std::string ratio_plot(bson::DocumentView report, const bson::Document* beside) {
  return plot_of("Ratio of dedup: logical bytes a stored byte", report, beside, Unit::number, [](bson::DocumentView from) {
    const Points logical = samples_of(from, "logicalBytes"), stored = samples_of(from, "storedBytes");
    Points out;
    for (size_t i = 0; i < logical.size(); ++i)
      if (stored[i].second > 0) out.emplace_back(logical[i].first, logical[i].second / stored[i].second);
    return out;
  });
}

// The mean of the insert commands of each window, and the slowest of them.
std::string latency_plot(bson::DocumentView report, const bson::Document* beside) {
  std::vector<Curve> curves;
  const auto add = [&](bson::DocumentView from) {
    const Points commands = samples_of(from, "insertCommands"), micros = samples_of(from, "insertMicros"),
                 slowest = samples_of(from, "slowestMicros");
    const std::string whose = beside ? ", " + text(from, "label") : "";
    Curve mean{"mean" + whose, {}}, most{"slowest" + whose, {}};
    if (commands.empty()) return;
    const double window = std::max(0.05, commands.back().first / 200);
    size_t before = 0;
    double worst = 0;
    for (size_t i = 1; i < commands.size(); ++i) {
      worst = std::max(worst, slowest[i].second);
      const double count = commands[i].second - commands[before].second;
      if (commands[i].first - commands[before].first < window || count <= 0) continue;
      mean.points.emplace_back(commands[i].first, (micros[i].second - micros[before].second) / count / 1e6);
      most.points.emplace_back(commands[i].first, worst / 1e6);
      before = i;
      worst = 0;
    }
    curves.push_back(std::move(mean));
    curves.push_back(std::move(most));
  };
  add(report);
  if (beside) add(*beside);
  const std::string drawn = plot(curves, {.x = {.unit = Unit::seconds}, .y = {.unit = Unit::seconds}});
  return drawn.empty() ? drawn : "<h2>Latency of an insert command, as the client sees it</h2>" + drawn;
}

std::string size_bars(bson::DocumentView report, const bson::Document* beside) {
  std::vector<Bar> list;
  auto add = [&](const std::string& name, bson::DocumentView from, const char* path) {
    if (const double bytes = number(from, path); bytes > 0) list.push_back({name, bytes, replay::bytes_text(bytes)});
  };
  add("logical", report, "logicalBytes");
  add("after dedup", report, "dedupBytes");
  add("after block compression", report, "blockBytes");
  add("in files", report, "fileBytes");
  if (beside)
    add("in files, " + (text(*beside, "label").empty() ? std::string("the other") : text(*beside, "label")), *beside,
        "fileBytes");
  add("oplog, raw", report, "oplog.rawBytes");
  add("oplog, forward-encoded", report, "oplog.forwardBytes");
  add("oplog, forward-encoded, zstd", report, "oplog.forwardZstdBytes");
  return "<h2>Where the bytes go</h2>" + bars(list);
}

// The server gives quantiles {p50: 1, p99: 9} and the most.
std::string hops_bars(bson::DocumentView report) {
  const bson::ValueView quantiles = bson::value_at(report, "decode.hops");
  if (!quantiles.is_object()) return {};
  std::vector<Bar> list;
  const auto add = [&](std::string_view name, double hops) {
    list.push_back({std::string(name), hops, fmt::format("{:g}", hops)});
  };
  for (const bson::Element& entry : quantiles.as_document()) add(entry.name, entry.to_double());
  add("most", number(report, "decode.hopsMax"));
  return "<h2>Hops to decode a document</h2>" + bars(list);
}

std::string card(const std::string& value, const std::string& name) {
  return "<div class=\"card\"><b>" + escaped(value) + "</b><span>" + escaped(name) + "</span></div>";
}

std::string tables(bson::DocumentView report, const bson::Document* beside) {
  std::string out;
  for (const Section& section : sections(report, beside)) {
    out += "<h2>" + escaped(section.title) + "</h2><table class=\"figures\">";
    if (beside) {
      out += "<tr><th></th><th>" + escaped(text(report, "label")) + "</th><th>" + escaped(text(*beside, "label")) +
             "</th><th></th></tr>";
    }
    for (const Figure& figure : section.figures) {
      out += "<tr><td>" + escaped(figure.name) + "</td><td class=\"v\">" + escaped(figure.value) + "</td>";
      if (beside) out += "<td class=\"v\">" + escaped(figure.beside) + "</td>";
      out += "<td class=\"n\">" + escaped(figure.note) + "</td></tr>";
    }
    out += "</table>";
  }
  return out;
}

}  // namespace

std::string as_html(bson::DocumentView report, const bson::Document* beside) {
  using replay::bytes_text;
  auto count = [&](const char* path) { return count_text(number(report, path)); };
  std::string out = "<h1>Replay of " + escaped(text(report, "source")) + "</h1>";
  out += "<p class=\"meaning\">" + escaped(meaning(report)) + "</p>";
  out += "<p class=\"about\">" + escaped(text(report, "kind")) + ", " + escaped(text(report, "order")) + " order, trace " +
         escaped(text(report, "trace")) + "</p>";
  out += "<div class=\"cards\">" + card(count("documents"), "documents") + card(count("verified"), "read back byte for byte") +
         card(bytes_text(number(report, "logicalBytes")), "logical") + card(bytes_text(number(report, "fileBytes")), "in files") +
         card(fmt::format("{:.1f}x", number(report, "ratios.file")), "smaller") +
         card(count("insertsPerSecond"), "inserts a second") + "</div>";
  out += size_bars(report, beside);
  out += plot_of("Inserts a second", report, beside, "documents", true, Unit::number);
  out += latency_plot(report, beside);
  out += ratio_plot(report, beside);
  out += plot_of("Resident memory of the server", report, beside, "residentBytes", false, Unit::bytes);
  out += plot_of("Stored bytes", report, beside, "storedBytes", false, Unit::bytes);
  out += plot_of("Records waiting to be encoded", report, nullptr, "queued", false, Unit::number);
  out += hops_bars(report);
  out += tables(report, beside);
  return page("Replay report", out);
}

}  // namespace datasets::report
