#include "bson/path.h"

#include <charconv>

namespace bson {
namespace {

// Returns the element at a position of an array, without a look at names.
ValueView element_at(DocumentView array, std::string_view component) {
  size_t index = 0;
  const auto parsed = std::from_chars(component.data(), component.data() + component.size(), index);
  if (parsed.ec != std::errc()) return {};
  for (const Element& element : array) {
    if (index-- == 0) return element;
  }
  return {};
}

// Splits "a.b.c" into "a" and "b.c"; the rest of the last component has no data pointer.
struct Split {
  std::string_view first;
  std::string_view rest;
  bool last;
};

Split split_first(std::string_view path) {
  const size_t dot = path.find('.');
  if (dot == path.npos) return {path, {}, true};
  return {path.substr(0, dot), path.substr(dot + 1), false};
}

bool visit_object(DocumentView document, std::string_view path, bool fanned, const PathVisitor& visitor);

// `path` goes on inside the array's elements: by their names in those that are objects, and by position too when it begins with a
// number. Other elements contribute nothing.
bool visit_array(DocumentView array, std::string_view path, const PathVisitor& visitor) {
  const Split split = split_first(path);
  const bool numeric = is_array_index(split.first);
  size_t position = 0;
  size_t wanted = 0;
  if (numeric) std::from_chars(split.first.data(), split.first.data() + split.first.size(), wanted);
  for (const Element& element : array) {
    if (element.is_object() && !visit_object(element.as_document(), path, true, visitor)) return false;
    if (!numeric || position++ != wanted) continue;
    if (split.last) {
      if (!visitor(element, true)) return false;
    } else if (element.is_object()) {
      if (!visit_object(element.as_document(), split.rest, true, visitor)) return false;
    } else if (element.is_array()) {
      if (!visit_array(element.as_document(), split.rest, visitor)) return false;
    }
  }
  return true;
}

bool visit_object(DocumentView document, std::string_view path, bool fanned, const PathVisitor& visitor) {
  for (;;) {
    const Split split = split_first(path);
    const Element field = document.find(split.first);
    if (split.last || !field.exists()) return visitor(field, fanned);
    if (field.is_array()) return visit_array(field.as_document(), split.rest, visitor);
    if (!field.is_object()) return visitor(ValueView(), fanned);
    document = field.as_document();
    path = split.rest;
  }
}

}  // namespace

std::vector<std::string_view> split_path(std::string_view path) {
  std::vector<std::string_view> components;
  for (;;) {
    const Split split = split_first(path);
    components.push_back(split.first);
    if (split.last) return components;
    path = split.rest;
  }
}

bool is_array_index(std::string_view component) {
  if (component.empty() || component.size() > 10) return false;
  if (component[0] == '0') return component.size() == 1;
  for (const char digit : component) {
    if (digit < '0' || digit > '9') return false;
  }
  return true;
}

ValueView value_at(DocumentView document, std::string_view path) {
  ValueView value(Type::object, document.bytes());
  for (;;) {
    const Split split = split_first(path);
    if (value.is_object()) {
      value = value.as_document().find(split.first);
    } else if (value.is_array() && is_array_index(split.first)) {
      value = element_at(value.as_document(), split.first);
    } else {
      return {};
    }
    if (split.last || !value.exists()) return value;
    path = split.rest;
  }
}

bool visit_path(DocumentView document, std::string_view path, const PathVisitor& visitor) {
  return visit_object(document, path, false, visitor);
}

}  // namespace bson
