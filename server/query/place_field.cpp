#include "server/query/place_field.h"

#include "bson/builder.h"

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

void collect_values(const ValueView& value, std::string_view path, std::vector<Value>& out, bool fan) {
  if (value.is_array() && fan) {
    for (const Element& element : value.as_document()) {
      if (path.empty()) {
        out.emplace_back(element);
      } else {
        collect_values(element, path, out, false);
      }
    }
    return;
  }
  if (path.empty()) {
    out.push_back(value.exists() ? Value(value) : Value::null());
    return;
  }
  const size_t dot = path.find('.');
  const std::string_view rest = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
  const ValueView below = value.is_object() ? static_cast<ValueView>(value.as_document().find(path.substr(0, dot))) : ValueView();
  collect_values(below, below.exists() ? rest : std::string_view(), out, true);
}

}  // namespace server::query
