// A report is what a benchmark found, in three forms: report.txt, report.json and one report.html that fetches
// nothing.
//
//   figures  numbered as in the paper they come from: plots, tables, notes
//   goals    a name, what was measured in this run, what was to be reached
//   claims   sentences of a paper, and whether they hold on this data
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "bson/document.h"

namespace bench {

struct Series {
  std::string name;
  std::vector<std::pair<double, double>> points;
};

// A plot has curves over one axis.
struct Plot {
  std::string title, x, y;
  bool log_x = false;
  std::vector<Series> series;
};

struct Bar {
  std::string name;
  double value = 0;
  double part = 0;    // of the value, before the rest was added; 0: not divided
  std::string label;  // empty: the value
};
struct BarChart {
  std::string title;
  std::vector<Bar> bars;
};

struct Table {
  std::string title;
  std::vector<std::string> columns;  // the first names the rows
  std::vector<std::vector<std::string>> rows;
};

struct Figure {
  std::string number, title;
  std::vector<BarChart> charts;
  std::vector<Plot> plots;
  std::vector<Table> tables;
  std::vector<std::string> notes;
};

struct Goal {
  std::string name, unit;
  double measured = 0;
  double reach = 0;
  bool at_most = false;  // else at least
  std::string note;      // of what, beside what

  bool met() const { return at_most ? measured <= reach : measured >= reach; }
};

struct Claim {
  std::string figure, claim, measured;
  bool holds = false;
};

struct Report {
  std::string title, command;
  std::vector<std::pair<std::string, std::string>> about;  // machine, data, versions of peers
  std::vector<Figure> figures;
  std::vector<Goal> goals;
  std::vector<Claim> claims;
};

// {title, command, about, figures: {"6.1": …}, goals: [{name, measured, reach, met, …}], claims: […]}
bson::Document to_document(const Report& report);
std::string as_text(const Report& report);
std::string as_html(const Report& report);

// Writes all three into `folder`, which is made. Throws std::runtime_error.
void write_all(const std::string& folder, const Report& report);

// Writes three significant digits, thousands apart: "0.0123", "4.56", "12,345".
std::string number_text(double value);

}  // namespace bench
