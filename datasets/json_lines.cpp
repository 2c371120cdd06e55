#include "datasets/json_lines.h"

#include "bson/json.h"
#include "datasets/utf8.h"

namespace datasets {

JsonLines::JsonLines(InputFile file, Problems& problems) : file_(std::move(file)), problems_(problems), lines_(*file_.content) {}

std::optional<bson::Document> JsonLines::next() {
  while (!done_) {
    std::optional<std::string_view> line;
    try {
      line = lines_.next();
    } catch (const StreamError& cut) {
      done_ = true;
      problems_.report({file_.name, file_.content->offset(), lines_.line(), cut.what()});
      break;
    }
    if (!line) {
      done_ = true;
      break;
    }
    if (line->find_first_not_of(" \t") == std::string_view::npos) continue;
    if (lines_.too_long()) {
      complain("the line is too long");
      continue;
    }
    auto document = bson::from_json(to_utf8(*line));
    if (document.ok()) return std::move(document).value();
    complain(document.failure().message);
  }
  return std::nullopt;
}

void JsonLines::complain(const std::string& message) {
  problems_.report({file_.name, lines_.offset(), lines_.line(), message});
}

}  // namespace datasets
