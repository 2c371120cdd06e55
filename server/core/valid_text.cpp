#include "server/core/valid_text.h"

#include "base/bytes.h"
#include "base/utf8.h"
#include "bson/builder.h"
#include "bson/validate.h"

namespace server {

namespace {

void append(bson::Builder& out, std::string_view name, const bson::ValueView& value);

void append_fields(bson::Builder& out, bson::DocumentView document) {
  for (const bson::Element& field : document) append(out, valid_text(field.name), field);
}

void append_elements(bson::ArrayBuilder& out, bson::DocumentView array) {
  for (const bson::Element& element : array) {
    if (element.is_object()) {
      auto inner = out.object();
      append_fields(inner, element.as_document());
    } else if (element.is_array()) {
      auto inner = out.array();
      append_elements(inner, element.as_document());
    } else {
      bson::Builder one;
      append(one, "", element);
      out.append(static_cast<bson::ValueView>(one.done().view().first()));
    }
  }
}

void append(bson::Builder& out, std::string_view name, const bson::ValueView& value) {
  switch (value.type()) {
    case bson::Type::string: out.append(name, valid_text(value.as_string())); return;
    case bson::Type::object: {
      auto object = out.object(name);
      append_fields(object, value.as_document());
      return;
    }
    case bson::Type::array: {
      auto array = out.array(name);
      append_elements(array, value.as_document());
      return;
    }
    case bson::Type::regex:
      out.append(name, bson::Regex{valid_text(value.as_regex().pattern), valid_text(value.as_regex().options)});
      return;
    default: break;
  }
  // Deprecated types (code, symbol, DBPointer) with invalid bytes become plain text.
  bson::Builder one;
  one.append("", value);
  if (bson::validate(one.done().bytes(), {.utf8 = true}).ok())
    out.append(name, value);
  else
    out.append(name, valid_text(value.bytes()));
}

}  // namespace

std::string valid_text(std::string_view text) {
  if (base::is_utf8(text)) [[likely]]
    return std::string(text);
  std::string out;
  while (!text.empty()) {
    const size_t length = base::utf8_bytes(text);
    if (length > 0) {
      out += text.substr(0, length);
    } else {
      out += "\\x" + base::to_hex(text.substr(0, 1));
    }
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return out;
}

bson::Document with_valid_text(bson::Document document) {
  if (bson::validate(document.bytes(), {.bytes_max = document.size(), .utf8 = true}).ok()) [[likely]]
    return document;
  bson::Builder out;
  append_fields(out, document);
  return out.done();
}

}  // namespace server
