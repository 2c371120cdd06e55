#include "datasets/report/report.h"

#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "bson/json.h"

namespace datasets::report {

std::string as_json(bson::DocumentView report) {
  constexpr int depth_max = 2;  // deeper levels stay on their line
  const std::string flat = bson::to_json(report);
  std::string out;
  int depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < flat.size(); ++i) {
    const char c = flat[i];
    if (c == '"' && (i == 0 || flat[i - 1] != '\\')) quoted = !quoted;
    const bool opens = !quoted && (c == '{' || c == '['), closes = !quoted && (c == '}' || c == ']');
    auto line = [&] { out.append(1, '\n').append(static_cast<size_t>(2 * depth), ' '); };
    if (closes && --depth < depth_max && flat[i - 1] != '{' && flat[i - 1] != '[') line();
    if (c == ' ' && !quoted && !out.empty() && out.back() == ' ') continue;
    out.push_back(c);
    const bool empty = opens && i + 1 < flat.size() && (flat[i + 1] == '}' || flat[i + 1] == ']');
    if (opens && depth++ < depth_max && !empty) line();
    if (c == ',' && !quoted && depth <= depth_max) line();
  }
  return out + "\n";
}

void write_all(const std::string& folder, const bson::Document& report, const bson::Document* beside) {
  std::filesystem::create_directories(folder);
  auto write = [&](const std::string& name, const std::string& text) {
    std::ofstream file(folder + "/" + name, std::ios::trunc);
    if (!(file << text).flush()) throw std::runtime_error("cannot write " + folder + "/" + name);
  };
  write("report.txt", as_text(report, beside));
  write("report.json", as_json(report));
  write("report.html", as_html(report, beside));
}

}  // namespace datasets::report
