#include "server/query/key_values.h"

#include <charconv>

#include "bson/path.h"

namespace server::query {

namespace {

using bson::DocumentView;
using bson::Type;
using bson::ValueView;

const ValueView null_value(Type::null, {});
const ValueView undefined_value(Type::undefined, {});

// A walk is one path on its way into the document: it stands at an array, or has arrived at a value.
struct Walk {
  std::vector<std::string_view> parts;
  size_t next = 0;  // the first part of the path that isn't taken yet
  ValueView value;  // where the walk has arrived, unless `array` is set
  ValueView array;  // to be fanned out
};

ValueView element_at(DocumentView array, std::string_view component) {
  size_t index = 0;
  std::from_chars(component.data(), component.data() + component.size(), index);
  for (const bson::Element& element : array) {
    if (index-- == 0) return element;
  }
  return {};
}

// Goes on from `value`, to which the parts before `next` led, to an array or the end.
void advance(Walk& walk, ValueView value) {
  walk.array = {};
  for (;;) {
    const bool at_end = walk.next == walk.parts.size();
    if (value.is_array()) {
      if (at_end || !bson::is_array_index(walk.parts[walk.next])) break;
      const ValueView element = element_at(value.as_document(), walk.parts[walk.next]);
      if (!element.exists()) break;
      value = element;
    } else if (at_end || !value.is_object()) {
      walk.value = at_end && value.exists() ? value : null_value;
      return;
    } else {
      value = value.as_document().find(walk.parts[walk.next]);
    }
    ++walk.next;
  }
  walk.array = value;
}

bool visit(std::vector<Walk>& walks, const KeyVisitor& visitor) {
  const Walk* fanned = nullptr;
  for (const Walk& walk : walks) {
    if (!walk.array.exists()) continue;
    if (fanned && walk.array.bytes().data() != fanned->array.bytes().data()) return false;
    fanned = &walk;
  }
  if (!fanned) {
    std::vector<ValueView> values;
    for (const Walk& walk : walks) values.push_back(walk.value);
    visitor(values);
    return true;
  }
  const DocumentView elements = fanned->array.as_document();
  const auto enter = [&](const ValueView& element) {
    std::vector<Walk> inner = walks;
    for (Walk& walk : inner) {
      if (!walk.array.exists()) continue;
      const bool at_end = walk.next == walk.parts.size();
      if (at_end) {
        walk.array = {};
        walk.value = element.exists() ? element : undefined_value;  // an array inside an array stays whole
      } else {
        advance(walk, element.is_object() ? element : ValueView());
      }
    }
    return visit(inner, visitor);
  };
  if (elements.empty()) return enter({});
  for (const bson::Element& element : elements) {
    if (!enter(element)) return false;
  }
  return true;
}

}  // namespace

bool visit_keys(DocumentView document, std::span<const std::string_view> paths, const KeyVisitor& visitor) {
  std::vector<Walk> walks(paths.size());
  for (size_t i = 0; i < paths.size(); ++i) {
    walks[i].parts = bson::split_path(paths[i]);
    advance(walks[i], ValueView(Type::object, document.bytes()));
  }
  return visit(walks, visitor);
}

}  // namespace server::query
