#include "datasets/report/plot.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "bson/builder.h"
#include "bson/json.h"
#include "datasets/report/page.h"

namespace datasets::report {
namespace {

const char* name_of(Unit unit) {
  switch (unit) {
    case Unit::number: return "number";
    case Unit::seconds: return "seconds";
    case Unit::bytes: return "bytes";
  }
  return "number";
}

void append(bson::Builder& out, std::string_view name, const Axis& axis) {
  bson::Builder to = out.object(name);
  to.append("label", axis.label).append("unit", name_of(axis.unit)).append("log", axis.log);
}

// A script element's content ends at the first "</script", wherever that stands.
std::string within_script(std::string json) {
  for (size_t at = 0; (at = json.find('<', at)) != std::string::npos;) json.replace(at, 1, "\\u003c");
  return json;
}

}  // namespace

std::string bars(const std::vector<Bar>& list) {
  double most = 0;
  for (const Bar& bar : list) most = std::max(most, bar.value);
  const auto percent = [](double part, double whole) { return whole > 0 ? std::clamp(100 * part / whole, 0.0, 100.0) : 0.0; };
  std::string out = "<div class=\"bars\">";
  for (const Bar& bar : list) {
    out += fmt::format("<div class=\"name\">{}</div><div class=\"row\"><div class=\"bar\" style=\"width: {:.2f}%\">",
                       escaped(bar.name), percent(bar.value, most));
    if (bar.part > 0) out += fmt::format("<div class=\"part\" style=\"width: {:.2f}%\"></div>", percent(bar.part, bar.value));
    out += fmt::format("</div><div class=\"label\">{}</div></div>", escaped(bar.label));
  }
  return out + "</div>";
}

std::string plot(const std::vector<Curve>& curves, const Axes& axes) {
  bool any = false;
  bson::Builder out;
  append(out, "x", axes.x);
  append(out, "y", axes.y);
  {
    bson::ArrayBuilder all = out.array("series");
    for (Curve curve : curves) {
      auto& points = curve.points;
      if (axes.x.log) std::erase_if(points, [](const auto& point) { return point.first <= 0; });
      std::stable_sort(points.begin(), points.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
      bson::Builder to = all.object();
      to.append("name", curve.name);
      {
        bson::ArrayBuilder x = to.array("x");
        for (const auto& point : points) x.append(point.first);
      }
      bson::ArrayBuilder y = to.array("y");
      for (const auto& point : points) y.append(point.second);
      any = any || std::any_of(points.begin(), points.end(), [](const auto& point) { return point.second > 0; });
    }
  }
  if (!any) return {};
  return "<script type=\"application/json\" class=\"plot\">" + within_script(bson::to_json(out.done())) + "</script>";
}

}  // namespace datasets::report
