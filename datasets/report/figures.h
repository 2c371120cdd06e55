// These functions write the report's numbers, the same in text and HTML.
#pragma once

#include <string>
#include <vector>

#include "bson/document.h"

namespace datasets::report {

double number(bson::DocumentView report, std::string_view path);  // 0 where there is none
bool has(bson::DocumentView report, std::string_view path);
std::string text(bson::DocumentView report, std::string_view path);

// A line of the report has a name, the value of this run, and that of the other one where there is
// one.
struct Figure {
  std::string name;
  std::string value;
  std::string beside;
  std::string note;
};
struct Section {
  std::string title;
  std::vector<Figure> figures;
};

std::vector<Section> sections(bson::DocumentView report, const bson::Document* beside);

// Says in one sentence what the run showed: how much was stored in how many bytes, how fast, and whether all came back.
std::string meaning(bson::DocumentView report);

// A saved report may say anything; what can't be a count is written as "-".
std::string count_text(double value);
std::string micros_text(double micros);  // "850 µs", "12.4 ms"

}  // namespace datasets::report
