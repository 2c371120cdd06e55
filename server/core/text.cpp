#include "server/core/text.h"

#include <algorithm>

#include "base/bytes.h"
#include "bson/numeric.h"

namespace server::query {

namespace {

using bson::Type;

bool continues_character(char byte) {
  return (static_cast<uint8_t>(byte) & 0xc0) == 0x80;
}

std::string show_double(double value) {
  std::string text = bson::double_to_string(value);
  if (text == "Infinity") return "inf";
  if (text == "-Infinity") return "-inf";
  if (text == "NaN") return "nan";
  return text.find_first_of(".e") == text.npos ? text + ".0" : text;
}

std::string show_fields(bson::DocumentView document, bool names, const char* open, const char* close) {
  std::string text = open;
  for (const bson::Element& field : document) {
    if (text.size() > 1) text += ",";
    text += " ";
    text += names ? show_element(field) : show(field);
  }
  return text.size() == 1 ? text + close : text + " " + close;
}

std::string upper_hex(bson::BytesView bytes) {
  std::string text = base::to_hex(bytes);
  for (char& c : text) c = static_cast<char>(toupper(c));
  return text;
}

}  // namespace

std::string show(bson::DocumentView document) {
  return document.empty() ? "{}" : show_fields(document, true, "{", "}");
}

std::string show_element(const bson::Element& field) {
  return std::string(field.name) + ": " + show(field);
}

std::string show(const bson::ValueView& value) {
  switch (value.type()) {
    case Type::eod: return "EOO";
    case Type::number_double: return show_double(value.as_double());
    case Type::string:
    case Type::symbol: return "\"" + std::string(value.as_string()) + "\"";
    case Type::object: return show(value.as_document());
    case Type::array: return value.as_document().empty() ? "[]" : show_fields(value.as_document(), false, "[", "]");
    case Type::binary: {
      const bson::Binary binary = value.as_binary();
      return "BinData(" + std::to_string(binary.subtype) + ", " + upper_hex(binary.bytes) + ")";
    }
    case Type::undefined: return "undefined";
    case Type::object_id: return "ObjectId('" + value.as_object_id().to_hex() + "')";
    case Type::boolean: return value.as_bool() ? "true" : "false";
    case Type::date: return "new Date(" + std::to_string(value.as_int64()) + ")";
    case Type::null: return "null";
    case Type::regex: return "/" + std::string(value.as_regex().pattern) + "/" + std::string(value.as_regex().options);
    case Type::db_pointer:
      return "DBRef('" + std::string(value.db_pointer_namespace()) + "'," + value.db_pointer_id().to_hex() + ")";
    case Type::code: return std::string(value.as_string());
    case Type::code_with_scope:
      return "CodeWScope( " + std::string(value.code_with_scope_code()) + ", " + show(value.code_with_scope_scope()) + ")";
    case Type::int32: return std::to_string(value.as_int32());
    case Type::int64: return std::to_string(value.as_int64());
    case Type::timestamp:
      return "Timestamp(" + std::to_string(value.as_timestamp().seconds) + ", " + std::to_string(value.as_timestamp().increment) +
             ")";
    case Type::decimal128: return bson::decimal_to_string(value.as_decimal128());
    case Type::max_key: return "MaxKey";
    case Type::min_key: return "MinKey";
  }
  return {};
}

std::string_view character_at(std::string_view text, size_t at) {
  size_t end = at + 1;
  while (end < text.size() && continues_character(text[end])) ++end;
  return text.substr(at, end - at);
}

std::string_view front_of(std::string_view text, size_t bytes_max) {
  size_t end = std::min(text.size(), bytes_max);
  while (end > 0 && end < text.size() && continues_character(text[end])) --end;
  return text.substr(0, end);
}

}  // namespace server::query
