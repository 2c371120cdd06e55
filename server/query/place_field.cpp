#include "server/query/place_field.h"

#include "bson/builder.h"
#include "bson/path.h"

namespace server::query {

using bson::DocumentView;
using bson::Element;
using bson::Value;
using bson::ValueView;

bson::Document with_field_at(DocumentView document, std::string_view path, const Value& value) {
  const size_t dot = path.find('.');
  const std::string_view name = path.substr(0, dot);
  bson::Builder out;
  bool placed = false;
  const auto put = [&](const ValueView& old) {
    placed = true;
    if (dot == std::string_view::npos) {
      out.append(name, value);
    } else {
      out.append(name, with_field_at(old.is_object() ? old.as_document() : DocumentView(), path.substr(dot + 1), value));
    }
  };
  for (const Element& field : document) {
    if (field.name == name) {
      put(field);
    } else {
      out.append_element(field);
    }
  }
  if (!placed) put(ValueView());
  return out.done();
}

bson::Document own_fields(const std::vector<std::string>& paths) {
  bson::Document out;
  for (const std::string& path : paths) out = with_field_at(out, path, Value("$" + path));
  return out;
}

namespace {

void collect_last(const ValueView& value, std::vector<Value>& out) {
  if (value.is_array()) {
    for (const Element& element : value.as_document()) out.emplace_back(element);
  } else if (value.exists()) {
    out.emplace_back(value);
  }
}

}  // namespace

void collect_values(DocumentView document, std::string_view path, std::vector<Value>& out) {
  size_t end = path.find('.');
  ValueView value = bson::value_at(document, path.substr(0, end));
  while (end != std::string_view::npos && value.is_array()) {
    const std::string_view rest = path.substr(end + 1);
    const size_t dot = rest.find('.');
    if (!bson::is_array_index(rest.substr(0, dot))) break;
    end = dot == std::string_view::npos ? dot : end + 1 + dot;
    value = bson::value_at(document, path.substr(0, end));
  }
  if (end == std::string_view::npos) return collect_last(value, out);
  const std::string_view rest = path.substr(end + 1);
  if (value.is_object()) return collect_values(value.as_document(), rest, out);
  if (!value.is_array()) return;
  for (const Element& element : value.as_document()) {
    if (element.is_object()) collect_values(element.as_document(), rest, out);
  }
}

}  // namespace server::query
