// Output for people.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "bson/document.h"

namespace client {

// A Table collects rows and prints them with aligned columns.
class Table {
 public:
  enum class Align { left, right };
  struct Column {
    std::string title;
    Align align = Align::left;
  };
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  void add(std::vector<std::string> cells);  // as many as there are columns
  bool empty() const { return rows_.empty(); }
  // `indent` spaces stand before each row. Nothing is printed for a table without rows.
  void print(std::ostream& out, size_t indent = 0) const;

 private:
  const std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// Returns the text with control characters replaced by '?', so that a name or message can't steer the terminal.
std::string printable(std::string_view text);

std::string count_text(int64_t count);              // "12,345"
std::string size_text(int64_t bytes);               // "1.40 GB"
std::string time_text(bson::Date time);             // "2024-02-29 12:00:00"
std::string micros_text(double microseconds);       // "850 us", "12.4 ms", "3.20 s"
std::string ratio_text(double whole, double part);  // "4.2", or "-" where part is 0
std::string short_id(const bson::Element& id);      // the first 12 digits of a commit

// Prints one document as a line of relaxed Extended JSON.
void print_json(std::ostream& out, bson::DocumentView document);

}  // namespace client
