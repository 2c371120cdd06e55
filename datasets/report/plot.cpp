#include "datasets/report/plot.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace datasets::report {
namespace {

constexpr const char* colours[] = {"#2563eb", "#d97706", "#059669", "#7c3aed", "#dc2626", "#0891b2", "#65a30d", "#475569"};

}  // namespace

const char* const page_style = R"(
  body { font: 15px/1.45 system-ui, sans-serif; color: #1b1f24; background: #fff; max-width: 1000px; margin: 2rem auto; padding: 0 1rem }
  h1 { font-size: 1.5rem; margin: 0 0 .2rem } h2 { font-size: 1.05rem; margin: 2rem 0 .4rem }
  p.about { color: #57606a; margin: 0 0 1.2rem } .cards { display: flex; flex-wrap: wrap; gap: .8rem }
  .card { border: 1px solid #d0d7de; border-radius: 8px; padding: .6rem .9rem; min-width: 8rem }
  .card b { display: block; font-size: 1.45rem; font-variant-numeric: tabular-nums } .card span { color: #57606a; font-size: .85rem }
  table { border-collapse: collapse; width: 100% } td, th { padding: .22rem .6rem .22rem 0; border-bottom: 1px solid #eaeef2; text-align: left }
  td.v { font-variant-numeric: tabular-nums; white-space: nowrap } td.n { color: #57606a; font-size: .85rem }
  svg { display: block; width: 100%; height: auto } svg text { font: 12px system-ui, sans-serif; fill: #57606a } .bad { color: #b42318 }
)";

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

std::string bars(const std::vector<Bar>& list) {
  constexpr double width = 960, name_width = 250, label_width = 150, row = 26;
  double most = 0;
  for (const Bar& bar : list) most = std::max(most, bar.value);
  std::string out = fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\">", width, row * static_cast<double>(list.size()) + 4);
  double y = 2;
  auto length_of = [&](double value) { return most > 0 ? std::max(1.5, value / most * (width - name_width - label_width)) : 0; };
  for (const Bar& bar : list) {
    const double length = length_of(bar.value);
    out += fmt::format(
        "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text><rect x=\"{}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\" rx=\"2\" "
        "fill=\"{}\"/>"
        "<text x=\"{:.1f}\" y=\"{}\">{}</text>",
        name_width - 10, y + 17, escaped(bar.name), name_width, y + 3, length, row - 8, colours[0], name_width + length + 8,
        y + 17, escaped(bar.label));
    if (bar.part > 0) {
      out += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\" rx=\"2\" fill=\"#1e3a8a\"/>", name_width, y + 3,
                         std::min(length, length_of(bar.part)), row - 8);
    }
    y += row;
  }
  return out + "</svg>";
}

std::string plot(const std::vector<Curve>& curves, const Axes& axes) {
  constexpr double width = 960, height = 260, left = 80, right = 20, top = 14, bottom = 44;
  double x_least = 0, x_most = 0, y_most = 0;
  bool any = false;
  for (const Curve& curve : curves) {
    for (const auto& [x, y] : curve.points) {
      if (axes.log_x && x <= 0) continue;
      x_least = any ? std::min(x_least, x) : x;
      x_most = std::max(x_most, x), y_most = std::max(y_most, y);
      any = true;
    }
  }
  if (!axes.log_x) x_least = 0;
  if (!any || x_most <= x_least || y_most <= 0) return {};
  const double low = axes.log_x ? std::log10(x_least) : 0, high = axes.log_x ? std::log10(x_most) : x_most;
  auto at_x = [&](double x) { return left + ((axes.log_x ? std::log10(x) : x) - low) / (high - low) * (width - left - right); };
  auto at_y = [&](double y) { return height - bottom - y / y_most * (height - top - bottom); };
  auto say = [](const Say& how, double value) { return how ? how(value) : fmt::format("{:.3g}", value); };
  std::string out = fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\">", width, height);
  for (int i = 0; i <= 4; ++i) {
    const double y = y_most * i / 4;
    out += fmt::format(
        "<line x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" stroke=\"#eaeef2\"/><text x=\"{3}\" y=\"{4:.1f}\" "
        "text-anchor=\"end\">{5}</text>",
        left, width - right, at_y(y), left - 8, at_y(y) + 4, escaped(say(axes.say_y, y)));
    const double x = axes.log_x ? std::pow(10, low + (high - low) * i / 4) : x_most * i / 4;
    out += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>", at_x(x), height - 26,
                       escaped(say(axes.say_x, x)));
  }
  if (!axes.x.empty())
    out += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>", (left + width - right) / 2, height - 6,
                       escaped(axes.x));
  if (!axes.y.empty()) {
    out += fmt::format("<text transform=\"translate(14 {}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
                       (height - bottom + top) / 2, escaped(axes.y));
  }
  size_t colour = 0;
  double legend = left + 12, legend_y = top + 10;
  for (const Curve& curve : curves) {
    std::string points, marks;
    const char* ink = colours[colour++ % std::size(colours)];
    for (const auto& [x, y] : curve.points) {
      if (axes.log_x && x <= 0) continue;
      points += fmt::format("{:.1f},{:.1f} ", at_x(x), at_y(y));
      if (curve.points.size() <= 24)
        marks += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\"/>", at_x(x), at_y(y), ink);
    }
    out += fmt::format("<polyline fill=\"none\" stroke=\"{}\" stroke-width=\"2\" points=\"{}\"/>{}", ink, points, marks);
    const double legend_width = 16 + 7.5 * static_cast<double>(curve.name.size());
    if (legend + legend_width > width - right && legend > left + 12) legend = left + 12, legend_y += 16;
    out += fmt::format("<text x=\"{:.0f}\" y=\"{}\" style=\"fill:{};font-weight:600\">{}</text>", legend, legend_y, ink,
                       escaped(curve.name));
    legend += legend_width;
  }
  return out + "</svg>";
}

}  // namespace datasets::report
