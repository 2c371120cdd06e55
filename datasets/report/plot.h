// These are bars and curves of a report page, as pieces of HTML. Bars are drawn by the page's style; curves are JSON that the
// page's script (page/plots.js) draws.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace datasets::report {

struct Bar {
  std::string name;
  double value;
  std::string label;
  double part = 0;  // of the value, drawn darker: what came before the rest was added
};

// Draws horizontal bars in the order given.
std::string bars(const std::vector<Bar>& list);

struct Curve {
  std::string name;
  std::vector<std::pair<double, double>> points;
};

// A unit says how an axis writes its numbers.
enum class Unit { number, seconds, bytes };

struct Axis {
  std::string label = {};  // what the axis shows; may be empty
  Unit unit = Unit::number;
  bool log = false;  // decades, without the points that have none; only for x
};

struct Axes {
  Axis x = {}, y = {};
};

// Curves over x; both axes begin at zero, unless x is logarithmic. Empty where no point has a value above zero.
std::string plot(const std::vector<Curve>& curves, const Axes& axes);

}  // namespace datasets::report
