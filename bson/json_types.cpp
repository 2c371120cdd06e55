#include "bson/json_types.h"

#include <charconv>
#include <cmath>
#include <limits>

#include "base/hex.h"
#include "bson/builder.h"
#include "bson/json.h"
#include "bson/numeric.h"

namespace bson::json_types {
namespace {

// Makes a value of a type that Value has no constructor for.
template <class T>
Value built(const T& value) {
  Builder builder;
  builder.append("", value);
  return Value(builder.done().view().first());
}

template <class T>
bool parse_whole(std::string_view text, T& number) {
  if (!text.empty() && text[0] == '+') text.remove_prefix(1);
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  return parsed.ec == std::errc() && parsed.ptr == text.data() + text.size() && !text.empty();
}

std::string_view text_of(const ValueView& value) {
  return value.is_string() ? value.as_string() : std::string_view();
}

// Reads an integer from a number or from text.
Value integer(const ValueView& value, bool wide) {
  int64_t number = 0;
  if (value.is_string()) {
    if (!parse_whole(value.as_string(), number)) return {};
  } else if (value.is_number()) {
    number = value.to_int64();
  } else {
    return {};
  }
  if (wide) return Value(number);
  const auto narrow = static_cast<int32_t>(number);
  return narrow == number ? Value(narrow) : Value();
}

Value double_of(const ValueView& value) {
  if (value.is_number()) return Value(value.to_double());
  const std::string_view text = text_of(value);
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (text == "NaN") return Value(std::numeric_limits<double>::quiet_NaN());
  if (text == "Infinity") return Value(infinity);
  if (text == "-Infinity") return Value(-infinity);
  double number = 0;
  return parse_whole(text, number) && std::isfinite(number) ? Value(number) : Value();
}

Value decimal_of(const ValueView& value) {
  if (value.is_integer()) return Value(decimal_from_int64(value.to_int64()));
  if (value.type() == Type::number_double) return Value(decimal_from_double(value.as_double()));
  const auto decimal = decimal_from_string(text_of(value));
  return decimal ? Value(*decimal) : Value();
}

Value date_of(const ValueView& value) {
  if (value.is_number()) return Value(Date{value.to_int64()});
  const auto date = date_from_string(text_of(value));
  return date ? Value(*date) : Value();
}

// Returns the bytes of exactly so many hexadecimal digits; empty when the text is anything else.
Bytes from_hex(std::string_view text, size_t bytes) {
  return text.size() == 2 * bytes ? base::from_hex(text).value_or(Bytes()) : Bytes();
}

Value object_id_of(const ValueView& value) {
  const Bytes bytes = from_hex(text_of(value), 12);
  return bytes.empty() ? Value() : Value(ValueView(Type::object_id, bytes));
}

Value binary_value(uint8_t subtype, std::string_view base64) {
  const auto bytes = base64_decode(base64);
  return bytes ? built(Binary{subtype, *bytes}) : Value();
}

Value uuid_of(const ValueView& value) {
  std::string digits(text_of(value));
  std::erase(digits, '-');
  const Bytes bytes = from_hex(digits, 16);
  return bytes.empty() ? Value() : built(Binary{4, bytes});
}

// Reads {"base64": "…", "subType": "00"}, or the older {"$binary": "…", "$type": "00"}.
Value binary_of(DocumentView wrapper) {
  const Element value = wrapper.first();
  const ValueView base64 = value.is_object() ? value.as_document()["base64"] : static_cast<ValueView>(value);
  const ValueView subtype = value.is_object() ? value.as_document()["subType"] : wrapper["$type"];
  if (!base64.is_string() || !subtype.is_string()) return {};
  std::string digits(subtype.as_string());
  if (digits.size() == 1) digits.insert(0, 1, '0');
  const Bytes byte = from_hex(digits, 1);
  return byte.empty() ? Value() : binary_value(static_cast<uint8_t>(byte[0]), base64.as_string());
}

bool is_uint32(const ValueView& value) {
  return value.is_number() && value.to_int64() >= 0 && value.to_int64() <= std::numeric_limits<uint32_t>::max();
}

Value timestamp_value(const ValueView& seconds, const ValueView& increment) {
  if (!is_uint32(seconds) || !is_uint32(increment)) return {};
  return Value(Timestamp{static_cast<uint32_t>(seconds.to_int64()), static_cast<uint32_t>(increment.to_int64())});
}

// Gives a string's bytes another type.
Value text_value(Type type, const ValueView& value) {
  return value.is_string() ? Value(ValueView(type, value.bytes())) : Value();
}

Value code_value(const ValueView& code, const ValueView& scope) {
  if (!scope.exists()) return text_value(Type::code, code);
  if (!code.is_string() || !scope.is_object()) return {};
  Bytes bytes;
  base::append_le(bytes, static_cast<uint32_t>(4 + code.bytes().size() + scope.bytes().size()));
  bytes.append(code.bytes()).append(scope.bytes());
  return Value(ValueView(Type::code_with_scope, bytes));
}

Value db_pointer_value(const ValueView& name, const ValueView& id) {
  if (!name.is_string() || id.type() != Type::object_id) return {};
  Bytes bytes(name.bytes());
  bytes.append(id.bytes());
  return Value(ValueView(Type::db_pointer, bytes));
}

Value only_type(Type type) {
  return Value(ValueView(type, {}));
}

}  // namespace

bool is_wrapper(std::string_view name) {
  if (name.empty() || name[0] != '$') return false;
  for (const std::string_view known :
       {"$oid", "$date", "$numberLong", "$numberInt", "$numberDouble", "$numberDecimal", "$binary", "$regularExpression",
        "$timestamp", "$minKey", "$maxKey", "$undefined", "$code", "$symbol", "$dbPointer", "$uuid"}) {
    if (name == known) return true;
  }
  return false;
}

Value unwrap(DocumentView wrapper) {
  const Element value = wrapper.first();
  const std::string_view name = value.name;
  const DocumentView inner = value.is_object() ? value.as_document() : DocumentView();
  if (name == "$binary") return binary_of(wrapper);
  if (name == "$code") return code_value(value, wrapper["$scope"]);
  if (wrapper.count() != 1) return {};
  if (name == "$oid") return object_id_of(value);
  if (name == "$date") return date_of(value);
  if (name == "$numberLong") return integer(value, true);
  if (name == "$numberInt") return integer(value, false);
  if (name == "$numberDouble") return double_of(value);
  if (name == "$numberDecimal") return decimal_of(value);
  if (name == "$timestamp") return timestamp_value(inner["t"], inner["i"]);
  if (name == "$minKey") return only_type(Type::min_key);
  if (name == "$maxKey") return only_type(Type::max_key);
  if (name == "$undefined") return only_type(Type::undefined);
  if (name == "$symbol") return text_value(Type::symbol, value);
  if (name == "$uuid") return uuid_of(value);
  if (name == "$dbPointer") return db_pointer_value(inner["$ref"], inner["$id"]);
  if (!inner["pattern"].is_string() || !inner["options"].is_string()) return {};
  return regex(inner["pattern"].as_string(), inner["options"].as_string());
}

Value call(std::string_view name, DocumentView arguments) {
  const ValueView first = arguments["0"];
  const ValueView second = arguments["1"];
  switch (arguments.count()) {
    case 0:
      if (name == "MinKey") return only_type(Type::min_key);
      if (name == "MaxKey") return only_type(Type::max_key);
      return {};
    case 1:
      if (name == "ObjectId") return object_id_of(first);
      if (name == "ISODate" || name == "Date") return date_of(first);
      if (name == "NumberLong" || name == "Long") return integer(first, true);
      if (name == "NumberInt" || name == "Int32") return integer(first, false);
      if (name == "NumberDecimal" || name == "Decimal128") return decimal_of(first);
      if (name == "Double") return double_of(first);
      if (name == "UUID") return uuid_of(first);
      if (name == "Code") return text_value(Type::code, first);
      if (name == "Symbol" || name == "BSONSymbol") return text_value(Type::symbol, first);
      return {};
    case 2:
      if (name == "Timestamp") return timestamp_value(first, second);
      if (name == "Code") return code_value(first, second);
      if (name == "DBPointer") return db_pointer_value(first, second);
      if (name == "BinData" && first.is_integer() && first.to_int64() >= 0 && first.to_int64() <= 255 && second.is_string()) {
        return binary_value(static_cast<uint8_t>(first.to_int64()), second.as_string());
      }
      return {};
    default: return {};
  }
}

Value number(std::string_view text) {
  if (text == "-Infinity") return Value(-std::numeric_limits<double>::infinity());
  int64_t whole = 0;
  if (parse_whole(text, whole)) {
    const auto narrow = static_cast<int32_t>(whole);
    return narrow == whole ? Value(narrow) : Value(whole);
  }
  return text.find_first_not_of("+-.0123456789eE") == text.npos ? double_of(Value(text)) : Value();
}

Value regex(std::string_view pattern, std::string_view options) {
  if (pattern.find('\0') != pattern.npos || options.find('\0') != options.npos) return {};
  return built(Regex{pattern, options});
}

void append_utf8(std::string& out, uint32_t point) {
  const auto byte = [&](uint32_t value) { out.push_back(static_cast<char>(value)); };
  if (point < 0x80) return byte(point);
  if (point < 0x800) {
    byte(0xc0 | point >> 6);
  } else {
    if (point < 0x10000) {
      byte(0xe0 | point >> 12);
    } else {
      byte(0xf0 | point >> 18);
      byte(0x80 | (point >> 12 & 63));
    }
    byte(0x80 | (point >> 6 & 63));
  }
  byte(0x80 | (point & 63));
}

}  // namespace bson::json_types
