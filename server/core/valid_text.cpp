#include "server/core/valid_text.h"

#include "base/bytes.h"
#include "bson/builder.h"
#include "bson/validate.h"

namespace server {

namespace {

// Returns the length of the character at the beginning; 0: no valid one is there.
size_t character(std::string_view text) {
  constexpr size_t longest = 4;
  for (size_t length = 1; length <= std::min(longest, text.size()); ++length) {
    if (bson::is_utf8(text.substr(0, length))) return length;
  }
  return 0;
}

void append(bson::Builder& out, std::string_view name, const bson::ValueView& value);

bson::Document rewritten(bson::DocumentView document) {
  bson::Builder out;
  for (const bson::Element& field : document) append(out, valid_text(field.name), field);
  return out.done();
}

void append(bson::Builder& out, std::string_view name, const bson::ValueView& value) {
  switch (value.type()) {
    case bson::Type::string: out.append(name, valid_text(value.as_string())); return;
    case bson::Type::object: out.append(name, rewritten(value.as_document())); return;
    case bson::Type::array: out.append_array(name, rewritten(value.as_document())); return;
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
  if (bson::is_utf8(text)) [[likely]]
    return std::string(text);
  std::string out;
  while (!text.empty()) {
    const size_t length = character(text);
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
  return rewritten(document);
}

}  // namespace server
