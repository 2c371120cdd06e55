#include "server/query/changes/update_description.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <vector>

#include "base/error.h"

namespace server::query {

using bson::DocumentView;
using bson::Element;

namespace {

[[noreturn]] void damaged(std::string_view section) {
  throw base::OperationError(base::ErrorCode::data_corruption_detected,
                             "an update in the log has the section '" + std::string(section) + "'");
}

bool is_number(std::string_view name) {
  return !name.empty() && (name == "0" || name[0] != '0') &&
         std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

class Description {
 public:
  Description(bool disambiguate, size_t bytes_max) : disambiguate_(disambiguate), bytes_left_(bytes_max) {}

  void read(DocumentView diff) {
    if (!diff.empty() && diff.first().name == "a")
      read_array(diff);
    else
      read_object(diff);
  }

  void append(bson::Builder& out) {
    out.append("updatedFields", updated_.done());
    out.append("removedFields", removed_.done_value());
    out.append("truncatedArrays", truncated_.done_value());
    if (disambiguate_) out.append("disambiguatedPaths", paths_.done());
  }

 private:
  struct Step {
    std::string_view name;
    bool index;  // of an array
  };

  void read_object(DocumentView diff) {
    for (const Element& section : diff) {
      if (!section.is_object()) damaged(section.name);
      const DocumentView fields = section.as_document();
      if (section.name.starts_with('s')) {
        within(section.name.substr(1), false, fields);
      } else if (section.name == "d") {
        for (const Element& field : fields) removed_.append(path_to(field.name, false));
      } else if (section.name == "u" || section.name == "i") {
        for (const Element& field : fields) update(path_to(field.name, false), field);
      } else {
        damaged(section.name);
      }
    }
  }

  void read_array(DocumentView diff) {
    for (const Element& section : diff) {
      const std::string_view name = section.name;
      if (name == "a") continue;
      if (name == "l") {
        const std::string path = dotted();
        take(path.size());
        bson::Builder cut = truncated_.object();
        cut.append("field", path).append("newSize", static_cast<bson::ValueView>(section));
      } else if (name.starts_with('u')) {
        update(path_to(name.substr(1), true), section);
      } else if (name.starts_with('s') && section.is_object()) {
        within(name.substr(1), true, section.as_document());
      } else {
        damaged(name);
      }
    }
  }

  void within(std::string_view name, bool index, DocumentView diff) {
    steps_.push_back({name, index});
    read(diff);
    steps_.pop_back();
  }

  void update(const std::string& path, const bson::ValueView& value) {
    take(value.bytes().size());
    updated_.append(path, value);
  }

  // Counts what goes into the description.
  void take(size_t bytes) {
    constexpr size_t around = 8;  // a field's type and so on
    if (bytes + around > bytes_left_)
      throw base::OperationError(base::ErrorCode::bson_object_too_large, "the description of an update is too large");
    bytes_left_ -= bytes + around;
  }

  std::string dotted() const {
    std::string path;
    for (const Step& step : steps_) {
      if (!path.empty()) path += '.';
      path += step.name;
    }
    return path;
  }

  std::string path_to(std::string_view name, bool index) {
    steps_.push_back({name, index});
    std::string path = dotted();
    take(path.size());
    const bool ambiguous = std::any_of(steps_.begin(), steps_.end(), [](const Step& step) {
      return !step.index && (is_number(step.name) || step.name.find('.') != std::string_view::npos);
    });
    if (disambiguate_ && ambiguous) {
      take(2 * path.size() + steps_.size() * 12);
      bson::ArrayBuilder parts = paths_.array(path);
      for (const Step& step : steps_) {
        int32_t position = 0;
        if (step.index && std::from_chars(step.name.data(), step.name.data() + step.name.size(), position).ec == std::errc())
          parts.append(position);
        else
          parts.append(step.name);
      }
    }
    steps_.pop_back();
    return path;
  }

  const bool disambiguate_;
  size_t bytes_left_;
  std::vector<Step> steps_;
  bson::Builder updated_;
  bson::ArrayBuilder removed_, truncated_;
  bson::Builder paths_;
};

}  // namespace

void append_update_description(DocumentView diff, bool disambiguate, size_t bytes_max, bson::Builder& out) {
  Description description(disambiguate, bytes_max);
  description.read(diff);
  description.append(out);
}

}  // namespace server::query
