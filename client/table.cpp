#include "client/table.h"

#include <fmt/core.h>

#include <algorithm>
#include <ostream>

#include "base/error.h"
#include "bson/json.h"
#include "datasets/replay/progress.h"

namespace client {
namespace {

// Counts code points, which is the width of most texts.
size_t width_of(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

}  // namespace

void Table::add(std::vector<std::string> cells) {
  base::check(cells.size() == columns_.size(), "a row has a cell for each column");
  rows_.push_back(std::move(cells));
}

void Table::print(std::ostream& out, size_t indent) const {
  if (rows_.empty()) return;
  std::vector<size_t> widths;
  for (const Column& column : columns_) widths.push_back(width_of(column.title));
  for (const auto& row : rows_)
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  const auto line = [&](const auto& cell) {
    std::string text(indent, ' ');
    for (size_t i = 0; i < columns_.size(); ++i) {
      const std::string& one = cell(i);
      const std::string fill(widths[i] - width_of(one), ' ');
      if (i > 0) text += "  ";
      text += columns_[i].align == Align::right ? fill + one : one + fill;
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out << text << "\n";
  };
  if (std::any_of(columns_.begin(), columns_.end(), [](const Column& column) { return !column.title.empty(); }))
    line([&](size_t i) -> const std::string& { return columns_[i].title; });
  for (const auto& row : rows_) line([&](size_t i) -> const std::string& { return row[i]; });
}

std::string printable(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  return out;
}

std::string count_text(int64_t count) {
  return count < 0 ? "-" + datasets::replay::grouped(static_cast<uint64_t>(-count))
                   : datasets::replay::grouped(static_cast<uint64_t>(count));
}

std::string size_text(int64_t bytes) {
  return datasets::replay::bytes_text(static_cast<double>(bytes));
}

std::string time_text(bson::Date time) {
  std::string text = bson::date_to_string(time);
  if (const size_t t = text.find('T'); t != text.npos) text[t] = ' ';
  return text.substr(0, text.find_first_of(".Z"));
}

std::string micros_text(double microseconds) {
  if (microseconds < 1000) return fmt::format("{:.0f} us", microseconds);
  if (microseconds < 1e6) return fmt::format("{:.{}f} ms", microseconds / 1000, microseconds < 1e5 ? 1 : 0);
  return datasets::replay::duration_text(microseconds / 1e6);
}

std::string ratio_text(double whole, double part) {
  return part > 0 ? fmt::format("{:.2f}", whole / part) : "-";
}

std::string short_id(const bson::Element& id) {
  return id.is_string() ? printable(id.as_string().substr(0, 12)) : std::string();
}

void print_json(std::ostream& out, bson::DocumentView document) {
  out << bson::to_json(document) << "\n";
}

}  // namespace client
