// What report pages are drawn with: SVG bars and curves, a style, escaping. No
// script and nothing fetched, so that a page needs nothing but itself.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace datasets::report {

extern const char* const page_style;  // CSS

std::string escaped(const std::string& text);

struct Bar {
  std::string name;
  double value;
  std::string label;
  double part = 0;  // of the value, drawn darker: what came before the rest was added
};

// Horizontal bars in the order given.
std::string bars(const std::vector<Bar>& list);

struct Curve {
  std::string name;
  std::vector<std::pair<double, double>> points;
};

using Say = std::function<std::string(double)>;  // how an axis writes a number

struct Axes {
  std::string x = {}, y = {};  // what they show; may be empty
  bool log_x = false;          // decades; x > 0
  Say say_x = {}, say_y = {};  // empty: three digits
};

// Curves over x, y from zero. Empty where there is nothing to show.
std::string plot(const std::vector<Curve>& curves, const Axes& axes);

}  // namespace datasets::report
