#include <algorithm>

#include "datasets/report/figures.h"
#include "datasets/report/report.h"

namespace datasets::report {
namespace {

// Counts columns, not bytes: µ takes two bytes and one column.
size_t columns(const std::string& text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string padded(const std::string& text, size_t width) {
  return text + std::string(width > columns(text) ? width - columns(text) : 0, ' ');
}

std::string label_of(bson::DocumentView report, const char* otherwise) {
  const std::string label = text(report, "label");
  return label.empty() ? otherwise : label;
}

}  // namespace

std::string as_text(bson::DocumentView report, const bson::Document* beside) {
  const std::vector<Section> all = sections(report, beside);
  size_t name_width = 0, value_width = 0, beside_width = 0;
  for (const Section& section : all) {
    for (const Figure& figure : section.figures) {
      name_width = std::max(name_width, columns(figure.name) + 4);
      value_width = std::max(value_width, columns(figure.value) + 2);
      beside_width = std::max(beside_width, columns(figure.beside) + 2);
    }
  }
  std::string out = "Replay of " + text(report, "source") + " (" + text(report, "kind") + ", " + text(report, "order") +
                    " order, trace " + text(report, "trace") + ")\n" + meaning(report) + "\n";
  if (beside)
    out += padded("", name_width) + padded(label_of(report, "this run"), value_width) + label_of(*beside, "the other") + "\n";
  for (const Section& section : all) {
    out += "\n" + section.title + "\n";
    for (const Figure& figure : section.figures) {
      std::string line = padded("  " + figure.name, name_width) + padded(figure.value, value_width);
      if (beside) line += padded(figure.beside, beside_width);
      if (!figure.note.empty()) line += figure.note;
      line.erase(line.find_last_not_of(' ') + 1);
      out += line + "\n";
    }
  }
  return out;
}

}  // namespace datasets::report
