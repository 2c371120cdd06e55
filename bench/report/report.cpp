#include "bench/report/report.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "bson/builder.h"
#include "datasets/replay/progress.h"
#include "datasets/report/page.h"
#include "datasets/report/plot.h"
#include "datasets/report/report.h"

namespace bench {
namespace {

void append(bson::Builder& out, const Figure& figure) {
  out.append("title", figure.title);
  if (!figure.charts.empty()) {
    auto charts = out.array("charts");
    for (const BarChart& chart : figure.charts) {
      auto one = charts.object();
      one.append("title", chart.title);
      auto bars = one.array("bars");
      for (const Bar& bar : chart.bars) {
        auto to = bars.object();
        to.append("name", bar.name).append("value", bar.value);
        if (bar.part > 0) to.append("part", bar.part);
      }
    }
  }
  if (!figure.plots.empty()) {
    auto plots = out.array("plots");
    for (const Plot& plot : figure.plots) {
      auto one = plots.object();
      one.append("title", plot.title).append("x", plot.x).append("y", plot.y);
      auto all = one.array("series");
      for (const Series& series : plot.series) {
        auto to = all.object();
        to.append("name", series.name);
        auto points = to.array("points");
        for (const auto& [x, y] : series.points) {
          auto point = points.array();
          point.append(x).append(y);
        }
      }
    }
  }
  if (!figure.tables.empty()) {
    auto tables = out.array("tables");
    for (const Table& table : figure.tables) {
      auto one = tables.object();
      one.append("title", table.title);
      {
        auto columns = one.array("columns");
        for (const std::string& column : table.columns) columns.append(column);
      }
      auto rows = one.array("rows");
      for (const auto& row : table.rows) {
        auto to = rows.array();
        for (const std::string& cell : row) to.append(cell);
      }
    }
  }
  auto notes = out.array("notes");
  for (const std::string& note : figure.notes) notes.append(note);
}

size_t columns(const std::string& text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string padded(const std::string& text, size_t width) {
  return text + std::string(width > columns(text) ? width - columns(text) : 0, ' ');
}

void append_table(std::string& out, const std::vector<std::string>& head, const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  auto widen = [&](const std::vector<std::string>& row) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], columns(row[i]) + 2);
  };
  auto write = [&](const std::vector<std::string>& row) {
    std::string line = "  ";
    for (size_t i = 0; i < row.size(); ++i) line += padded(row[i], widths[i]);
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  };
  widen(head);
  for (const auto& row : rows) widen(row);
  write(head);
  for (const auto& row : rows) write(row);
}

std::string label_of(const Bar& bar) {
  if (!bar.label.empty()) return bar.label;
  return bar.part > 0 ? number_text(bar.part) + " → " + number_text(bar.value) : number_text(bar.value);
}

std::string reach_of(const Goal& goal) {
  return (goal.at_most ? "≤ " : "≥ ") + number_text(goal.reach) + " " + goal.unit;
}

std::vector<std::vector<std::string>> goal_rows(const Report& report) {
  std::vector<std::vector<std::string>> rows;
  for (const Goal& goal : report.goals) {
    rows.push_back(
        {goal.name, number_text(goal.measured) + " " + goal.unit, reach_of(goal), goal.met() ? "met" : "not met", goal.note});
  }
  return rows;
}

std::vector<std::vector<std::string>> claim_rows(const Report& report) {
  std::vector<std::vector<std::string>> rows;
  for (const Claim& claim : report.claims)
    rows.push_back({claim.figure, claim.claim, claim.measured, claim.holds ? "holds" : "does not hold here"});
  return rows;
}

// Tells whether the series have their points at the same places. If not, a table of them is mostly holes.
bool share_x(const Plot& plot) {
  std::vector<double> at;
  size_t most = 0;
  for (const Series& series : plot.series) {
    for (const auto& [x, y] : series.points) at.push_back(x);
    most = std::max(most, series.points.size());
  }
  std::sort(at.begin(), at.end());
  at.erase(std::unique(at.begin(), at.end()), at.end());
  return at.size() <= most + most / 4;
}

// Returns the points of all series by x, with a column a series.
std::vector<std::vector<std::string>> point_rows(const Plot& plot) {
  std::vector<double> at;
  for (const Series& series : plot.series) {
    for (const auto& [x, y] : series.points) at.push_back(x);
  }
  std::sort(at.begin(), at.end());
  at.erase(std::unique(at.begin(), at.end()), at.end());
  std::vector<std::vector<std::string>> rows;
  constexpr size_t rows_max = 24;  // curves with many points show some of them
  const size_t step = std::max<size_t>(1, (at.size() + rows_max - 1) / rows_max);
  for (size_t i = 0; i < at.size(); i += step) {
    auto& row = rows.emplace_back(1, number_text(at[i]));
    for (const Series& series : plot.series) {
      const auto point =
          std::find_if(series.points.begin(), series.points.end(), [&](const auto& p) { return p.first == at[i]; });
      row.push_back(point == series.points.end() ? "" : number_text(point->second));
    }
  }
  return rows;
}

std::string html_table(const std::vector<std::string>& head, const std::vector<std::vector<std::string>>& rows,
                       const char* bad_cell = nullptr) {
  using datasets::report::escaped;
  std::string out = "<table class=\"figures\"><tr>";
  for (const std::string& name : head) out += "<th>" + escaped(name) + "</th>";
  out += "</tr>";
  for (const auto& row : rows) {
    out += "<tr>";
    for (const std::string& cell : row)
      out += fmt::format("<td{}>{}</td>", bad_cell && cell == bad_cell ? " class=\"bad\"" : "", escaped(cell));
    out += "</tr>";
  }
  return out + "</table>";
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) throw std::runtime_error(path + ": cannot be written");
}

}  // namespace

std::string number_text(double value) {
  const double size = std::abs(value);
  if (size >= 1000) return (value < 0 ? "-" : "") + datasets::replay::grouped(static_cast<uint64_t>(std::llround(size)));
  if (size >= 100) return fmt::format("{:.0f}", value);
  return fmt::format("{:.3g}", value);
}

bson::Document to_document(const Report& report) {
  bson::Builder out;
  out.append("title", report.title).append("command", report.command);
  {
    auto about = out.object("about");
    for (const auto& [name, value] : report.about) about.append(name, value);
  }
  {
    auto figures = out.object("figures");
    for (const Figure& figure : report.figures) {
      auto one = figures.object(figure.number);
      append(one, figure);
    }
  }
  {
    auto goals = out.array("goals");
    for (const Goal& goal : report.goals) {
      auto to = goals.object();
      to.append("name", goal.name).append("measured", goal.measured).append("reach", goal.reach).append("met", goal.met());
      to.append("atMost", goal.at_most).append("unit", goal.unit).append("note", goal.note);
    }
  }
  {
    auto claims = out.array("claims");
    for (const Claim& claim : report.claims) {
      auto to = claims.object();
      to.append("figure", claim.figure)
          .append("claim", claim.claim)
          .append("measured", claim.measured)
          .append("holds", claim.holds);
    }
  }
  return out.done();
}

std::string as_text(const Report& report) {
  std::string out = report.title + "\n" + report.command + "\n\n";
  for (const auto& [name, value] : report.about) out += padded("  " + name, 18) + value + "\n";
  if (!report.goals.empty()) {
    out += "\nFigures to reach\n";
    append_table(out, {"", "measured", "reach", "", ""}, goal_rows(report));
  }
  for (const Figure& figure : report.figures) {
    out += "\n" + figure.number + "  " + figure.title + "\n";
    for (const BarChart& chart : figure.charts) {
      std::vector<std::vector<std::string>> rows;
      for (const Bar& bar : chart.bars) rows.push_back({bar.name, label_of(bar)});
      append_table(out, {chart.title}, rows);
    }
    for (const Plot& plot : figure.plots) {
      std::vector<std::string> head{plot.x};
      for (const Series& series : plot.series) head.push_back(series.name);
      out += "  " + plot.title + (plot.y.empty() ? "" : ": " + plot.y) + "\n";
      if (share_x(plot))
        append_table(out, head, point_rows(plot));
      else
        out += "  (curves, in report.html)\n";
    }
    for (const Table& table : figure.tables) {
      if (!table.title.empty()) out += "  " + table.title + "\n";
      append_table(out, table.columns, table.rows);
    }
    for (const std::string& note : figure.notes) out += "  " + note + "\n";
  }
  if (!report.claims.empty()) {
    out += "\nWhat the paper says, and what this run says\n";
    append_table(out, {"", "claim", "measured", ""}, claim_rows(report));
  }
  return out;
}

std::string as_html(const Report& report) {
  using namespace datasets::report;
  std::string out = "<h1>" + escaped(report.title) + "</h1><p class=\"about\">" + escaped(report.command) + "</p>";
  std::vector<std::vector<std::string>> about;
  for (const auto& [name, value] : report.about) about.push_back({name, value});
  out += html_table({}, about);
  if (!report.goals.empty())
    out += "<h2>Figures to reach</h2>" + html_table({"", "measured", "reach", "", ""}, goal_rows(report), "not met");
  for (const Figure& figure : report.figures) {
    out += "<h2 id=\"f" + escaped(figure.number) + "\">" + escaped(figure.number + "  " + figure.title) + "</h2>";
    for (const BarChart& chart : figure.charts) {
      std::vector<datasets::report::Bar> list;
      for (const Bar& bar : chart.bars) list.push_back({bar.name, bar.value, label_of(bar), bar.part});
      out += "<p><b>" + escaped(chart.title) + "</b></p>" + bars(list);
    }
    for (const Plot& plot : figure.plots) {
      std::vector<Curve> curves;
      for (const Series& series : plot.series) curves.push_back({series.name, series.points});
      out += "<p><b>" + escaped(plot.title) + "</b></p>" +
             datasets::report::plot(curves, {.x = {.label = plot.x, .log = plot.log_x}, .y = {.label = plot.y}});
    }
    for (const Table& table : figure.tables)
      out += (table.title.empty() ? "" : "<p><b>" + escaped(table.title) + "</b></p>") + html_table(table.columns, table.rows);
    for (const std::string& note : figure.notes) out += "<p class=\"about\">" + escaped(note) + "</p>";
  }
  if (!report.claims.empty()) {
    out += "<h2>What the paper says, and what this run says</h2>" +
           html_table({"figure", "claim", "measured", ""}, claim_rows(report), "does not hold here");
  }
  return page(report.title, out);
}

void write_all(const std::string& folder, const Report& report) {
  std::filesystem::create_directories(folder);
  write_file(folder + "/report.json", datasets::report::as_json(to_document(report)));
  write_file(folder + "/report.txt", as_text(report));
  write_file(folder + "/report.html", as_html(report));
}

}  // namespace bench
