// One page that needs nothing but itself: figures as tables, plots as SVG.
#include <fmt/core.h>

#include <algorithm>
#include <functional>

#include "bson/path.h"
#include "datasets/replay/progress.h"
#include "datasets/report/figures.h"
#include "datasets/report/report.h"

namespace datasets::report {
namespace {

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  }
  return out;
}

constexpr const char* style = R"(
  body { font: 15px/1.45 system-ui, sans-serif; color: #1b1f24; background: #fff; max-width: 1000px; margin: 2rem auto; padding: 0 1rem }
  h1 { font-size: 1.5rem; margin: 0 0 .2rem } h2 { font-size: 1.05rem; margin: 2rem 0 .4rem }
  p.about { color: #57606a; margin: 0 0 1.2rem } .cards { display: flex; flex-wrap: wrap; gap: .8rem }
  .card { border: 1px solid #d0d7de; border-radius: 8px; padding: .6rem .9rem; min-width: 8rem }
  .card b { display: block; font-size: 1.45rem; font-variant-numeric: tabular-nums } .card span { color: #57606a; font-size: .85rem }
  table { border-collapse: collapse; width: 100% } td, th { padding: .22rem .6rem .22rem 0; border-bottom: 1px solid #eaeef2; text-align: left }
  td.v { font-variant-numeric: tabular-nums; white-space: nowrap } td.n { color: #57606a; font-size: .85rem }
  svg { display: block; width: 100%; height: auto } svg text { font: 12px system-ui, sans-serif; fill: #57606a } .bad { color: #b42318 }
)";

constexpr const char* colours[] = {"#2563eb", "#d97706", "#059669", "#7c3aed"};

struct Bar {
  std::string name;
  double value;
  std::string label;
};

// Horizontal bars, widest first or as given.
std::string bars(const std::vector<Bar>& list) {
  constexpr double width = 960, name_width = 250, label_width = 150, row = 26;
  double most = 0;
  for (const Bar& bar : list) most = std::max(most, bar.value);
  std::string out = fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\">", width, row * static_cast<double>(list.size()) + 4);
  double y = 2;
  for (const Bar& bar : list) {
    const double length = most > 0 ? std::max(1.5, bar.value / most * (width - name_width - label_width)) : 0;
    out += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text><rect x=\"{}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\" rx=\"2\" fill=\"{}\"/>"
                       "<text x=\"{:.1f}\" y=\"{}\">{}</text>",
                       name_width - 10, y + 17, escaped(bar.name), name_width, y + 3, length, row - 8, colours[0], name_width + length + 8, y + 17, escaped(bar.label));
    y += row;
  }
  return out + "</svg>";
}

struct Curve {
  std::string name;
  std::vector<std::pair<double, double>> points;
};

// Lines over time, from zero.
std::string plot(const std::vector<Curve>& curves, const std::function<std::string(double)>& say) {
  constexpr double width = 960, height = 240, left = 80, right = 20, top = 14, bottom = 30;
  double x_most = 0, y_most = 0;
  for (const Curve& curve : curves) {
    for (const auto& [x, y] : curve.points) x_most = std::max(x_most, x), y_most = std::max(y_most, y);
  }
  if (x_most <= 0 || y_most <= 0) return {};
  auto at_x = [&](double x) { return left + x / x_most * (width - left - right); };
  auto at_y = [&](double y) { return height - bottom - y / y_most * (height - top - bottom); };
  std::string out = fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\">", width, height);
  for (int i = 0; i <= 4; ++i) {
    const double y = y_most * i / 4, x = x_most * i / 4;
    out += fmt::format("<line x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" stroke=\"#eaeef2\"/><text x=\"{3}\" y=\"{4:.1f}\" text-anchor=\"end\">{5}</text>", left,
                       width - right, at_y(y), left - 8, at_y(y) + 4, escaped(say(y)));
    out += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{:.3g} s</text>", at_x(x), height - 8, x);
  }
  size_t colour = 0;
  double legend = left + 12;
  for (const Curve& curve : curves) {
    std::string points;
    for (const auto& [x, y] : curve.points) points += fmt::format("{:.1f},{:.1f} ", at_x(x), at_y(y));
    const char* ink = colours[colour++ % std::size(colours)];
    out += fmt::format("<polyline fill=\"none\" stroke=\"{}\" stroke-width=\"2\" points=\"{}\"/>", ink, points);
    out += fmt::format("<text x=\"{:.0f}\" y=\"{}\" style=\"fill:{};font-weight:600\">{}</text>", legend, top + 10, ink, escaped(curve.name));
    legend += 16 + 7.5 * static_cast<double>(curve.name.size());
  }
  return out + "</svg>";
}

std::vector<std::pair<double, double>> series(bson::DocumentView report, const char* field, bool rate) {
  std::vector<std::pair<double, double>> points;
  const bson::ValueView samples = bson::value_at(report, "samples");
  if (!samples.is_array()) return points;
  double last_x = 0, last_y = 0;
  for (const bson::Element& sample : samples.as_document()) {
    const double x = number(sample.as_document(), "seconds"), y = number(sample.as_document(), field);
    if (!rate) points.emplace_back(x, y);
    else if (x - last_x > 0.05) points.emplace_back(x, (y - last_y) / (x - last_x));
    last_x = x;
    last_y = y;
  }
  return points;
}

std::string plot_of(const std::string& title, bson::DocumentView report, const bson::Document* beside, const char* field, bool rate,
                    const std::function<std::string(double)>& say) {
  auto name = [](bson::DocumentView from, const char* otherwise) {
    const std::string label = text(from, "label");
    return label.empty() ? std::string(otherwise) : label;
  };
  std::vector<Curve> curves{{name(report, "this run"), series(report, field, rate)}};
  if (beside) curves.push_back({name(*beside, "the other"), series(*beside, field, rate)});
  const std::string drawn = plot(curves, say);
  return drawn.empty() ? drawn : "<h2>" + escaped(title) + "</h2>" + drawn;
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
  if (beside) add("in files, " + (text(*beside, "label").empty() ? std::string("the other") : text(*beside, "label")), *beside, "fileBytes");
  add("oplog, raw", report, "oplog.rawBytes");
  add("oplog, forward-encoded", report, "oplog.forwardBytes");
  add("oplog, forward-encoded, zstd", report, "oplog.forwardZstdBytes");
  return "<h2>Where the bytes go</h2>" + bars(list);
}

std::string latency_bars(bson::DocumentView report, const bson::Document* beside) {
  std::vector<Bar> list;
  auto add = [&](bson::DocumentView from, const std::string& whose, const char* path, const char* what) {
    for (const auto& [name, field] : {std::pair{"p50", "p50Micros"}, {"p90", "p90Micros"}, {"p99", "p99Micros"}, {"p99.9", "p999Micros"}}) {
      const std::string at = std::string(path) + "." + field;
      if (has(from, at)) list.push_back({fmt::format("{} {}{}", what, name, whose.empty() ? "" : ", " + whose), number(from, at), micros_text(number(from, at))});
    }
  };
  add(report, beside ? text(report, "label") : "", "latency.insert", "insert");
  if (beside) add(*beside, text(*beside, "label"), "latency.insert", "insert");
  add(report, "", "latency.read", "read");
  return list.empty() ? "" : "<h2>Latency as the client sees it</h2>" + bars(list);
}

// The quantiles the server gives: [{q: 0.5, hops: 1}, …].
std::string hops_bars(bson::DocumentView report) {
  const bson::ValueView quantiles = bson::value_at(report, "decode.hops");
  if (!quantiles.is_array()) return {};
  std::vector<Bar> list;
  for (const bson::Element& entry : quantiles.as_document()) {
    if (!entry.is_object()) continue;
    const double q = number(entry.as_document(), "q"), hops = number(entry.as_document(), "hops");
    list.push_back({q >= 1 ? std::string("most") : fmt::format("p{:g}", q * 100), hops, fmt::format("{:g}", hops)});
  }
  return list.empty() ? "" : "<h2>Hops to decode a document</h2>" + bars(list);
}

std::string card(const std::string& value, const std::string& name) { return "<div class=\"card\"><b>" + escaped(value) + "</b><span>" + escaped(name) + "</span></div>"; }

std::string tables(bson::DocumentView report, const bson::Document* beside) {
  std::string out;
  for (const Section& section : sections(report, beside)) {
    out += "<h2>" + escaped(section.title) + "</h2><table>";
    if (beside) {
      out += "<tr><th></th><th>" + escaped(text(report, "label")) + "</th><th>" + escaped(text(*beside, "label")) + "</th><th></th></tr>";
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
  using replay::grouped;
  auto count = [&](const char* path) { return grouped(static_cast<uint64_t>(std::max(0.0, number(report, path)))); };
  std::string out = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\"><title>Replay report</title><style>";
  out += style;
  out += "</style><h1>Replay of " + escaped(text(report, "source")) + "</h1>";
  out += "<p class=\"about\">" + escaped(text(report, "kind")) + ", " + escaped(text(report, "order")) + " order, trace " + escaped(text(report, "trace")) + "</p>";
  out += "<div class=\"cards\">" + card(count("documents"), "documents") + card(count("verified"), "read back byte for byte") +
         card(bytes_text(number(report, "logicalBytes")), "logical") + card(bytes_text(number(report, "fileBytes")), "in files") +
         card(fmt::format("{:.1f}x", number(report, "ratios.file")), "smaller") + card(count("insertsPerSecond"), "inserts a second") + "</div>";
  out += size_bars(report, beside);
  const auto say_count = [](double value) { return grouped(static_cast<uint64_t>(std::max(0.0, value))); };
  out += plot_of("Inserts a second", report, beside, "documents", true, say_count);
  out += latency_bars(report, beside);
  out += plot_of("Resident memory of the server", report, beside, "residentBytes", false, bytes_text);
  out += plot_of("Stored bytes", report, beside, "storedBytes", false, bytes_text);
  out += plot_of("Records waiting to be encoded", report, nullptr, "queued", false, say_count);
  out += hops_bars(report);
  out += tables(report, beside);
  return out + "</html>\n";
}

}  // namespace datasets::report
