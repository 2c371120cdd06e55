#include <cmath>

#include "bson/json.h"
#include "bson/numeric.h"

namespace bson {
namespace {

void append_escaped(std::string& out, char c) {
  constexpr char digits[] = "0123456789abcdef";
  switch (c) {
    case '"': out += "\\\""; return;
    case '\\': out += "\\\\"; return;
    case '\n': out += "\\n"; return;
    case '\r': out += "\\r"; return;
    case '\t': out += "\\t"; return;
    case '\b': out += "\\b"; return;
    case '\f': out += "\\f"; return;
    default:
      out += "\\u00";
      out.push_back(digits[static_cast<uint8_t>(c) >> 4]);
      out.push_back(digits[c & 15]);
  }
}

void append_quoted(std::string& out, std::string_view text) {
  out.push_back('"');
  size_t done = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (static_cast<uint8_t>(c) >= 0x20 && c != '"' && c != '\\' && c != 0x7f) continue;
    out.append(text.substr(done, i - done));
    append_escaped(out, c);
    done = i + 1;
  }
  out.append(text.substr(done));
  out.push_back('"');
}

// Writes a point or an exponent, so that the text reads back as a double.
std::string double_text(double value) {
  std::string text = double_to_string(value);
  if (std::isfinite(value) && text.find_first_of(".e") == text.npos) text += ".0";
  return text;
}

class Writer {
 public:
  Writer(std::string& out, JsonMode mode) : out_(out), canonical_(mode == JsonMode::canonical) {}

  void document(DocumentView document) {
    out_.push_back('{');
    bool first = true;
    for (const Element& field : document) {
      if (!first) out_ += ", ";
      first = false;
      append_quoted(out_, field.name);
      out_ += ": ";
      value(field);
    }
    out_.push_back('}');
  }

  void value(const ValueView& value);

 private:
  void array(DocumentView array) {
    out_.push_back('[');
    bool first = true;
    for (const Element& element : array) {
      if (!first) out_ += ", ";
      first = false;
      value(element);
    }
    out_.push_back(']');
  }
  // Writes {"$name": "text"}.
  void wrapped(const char* name, std::string_view text) {
    out_ += "{\"";
    out_ += name;
    out_ += "\": ";
    append_quoted(out_, text);
    out_.push_back('}');
  }
  void number(const char* name, const std::string& text, bool plain) { plain ? void(out_ += text) : wrapped(name, text); }
  void date(Date date);
  void binary(const Binary& binary);

  std::string& out_;
  bool canonical_;
};

void Writer::date(Date date) {
  out_ += "{\"$date\": ";
  if (!canonical_ && date.ms >= 0 && date.ms < 253'402'300'800'000) {
    append_quoted(out_, date_to_string(date));
  } else {
    wrapped("$numberLong", std::to_string(date.ms));
  }
  out_.push_back('}');
}

void Writer::binary(const Binary& binary) {
  out_ += "{\"$binary\": {\"base64\": \"" + base64_encode(binary.bytes) + "\", \"subType\": \"";
  const char subtype = static_cast<char>(binary.subtype);
  out_ += base::to_hex({&subtype, 1}) + "\"}}";
}

void Writer::value(const ValueView& value) {
  switch (value.type()) {
    case Type::eod: out_ += "null"; return;
    case Type::number_double:
      return number("$numberDouble", double_text(value.as_double()), !canonical_ && std::isfinite(value.as_double()));
    case Type::int32: return number("$numberInt", std::to_string(value.as_int32()), !canonical_);
    case Type::int64: return number("$numberLong", std::to_string(value.as_int64()), !canonical_);
    case Type::decimal128: return wrapped("$numberDecimal", decimal_to_string(value.as_decimal128()));
    case Type::string: return append_quoted(out_, value.as_string());
    case Type::object: return document(value.as_document());
    case Type::array: return array(value.as_document());
    case Type::binary: return binary(value.as_binary());
    case Type::undefined: out_ += "{\"$undefined\": true}"; return;
    case Type::object_id: return wrapped("$oid", value.as_object_id().to_hex());
    case Type::boolean: out_ += value.as_bool() ? "true" : "false"; return;
    case Type::date: return date(value.as_date());
    case Type::null: out_ += "null"; return;
    case Type::regex:
      out_ += "{\"$regularExpression\": {\"pattern\": ";
      append_quoted(out_, value.as_regex().pattern);
      out_ += ", \"options\": ";
      append_quoted(out_, value.as_regex().options);
      out_ += "}}";
      return;
    case Type::db_pointer:
      out_ += "{\"$dbPointer\": {\"$ref\": ";
      append_quoted(out_, value.db_pointer_namespace());
      out_ += ", \"$id\": ";
      wrapped("$oid", value.db_pointer_id().to_hex());
      out_ += "}}";
      return;
    case Type::code: return wrapped("$code", value.as_string());
    case Type::symbol: return wrapped("$symbol", value.as_string());
    case Type::code_with_scope:
      out_ += "{\"$code\": ";
      append_quoted(out_, value.code_with_scope_code());
      out_ += ", \"$scope\": ";
      document(value.code_with_scope_scope());
      out_.push_back('}');
      return;
    case Type::timestamp:
      out_ += "{\"$timestamp\": {\"t\": " + std::to_string(value.as_timestamp().seconds) +
              ", \"i\": " + std::to_string(value.as_timestamp().increment) + "}}";
      return;
    case Type::max_key: out_ += "{\"$maxKey\": 1}"; return;
    case Type::min_key: out_ += "{\"$minKey\": 1}"; return;
  }
}

void shell_value(std::string& out, const ValueView& value);

void shell_document(std::string& out, DocumentView document) {
  out += "{";
  const char* separator = " ";
  for (const Element& field : document) {
    out += separator;
    out += field.name;
    out += ": ";
    shell_value(out, field);
    separator = ", ";
  }
  out += document.empty() ? "}" : " }";
}

void shell_array(std::string& out, DocumentView array) {
  out += "[";
  const char* separator = " ";
  for (const Element& element : array) {
    out += separator;
    shell_value(out, element);
    separator = ", ";
  }
  out += array.empty() ? "]" : " ]";
}

std::string uppercase_hex(BytesView bytes) {
  std::string text = base::to_hex(bytes);
  for (char& c : text) c = c >= 'a' ? static_cast<char>(c - 'a' + 'A') : c;
  return text;
}

void shell_binary(std::string& out, const Binary& binary) {
  if (binary.subtype == 4 && binary.bytes.size() == 16) {
    std::string uuid = base::to_hex(binary.bytes);
    for (const size_t at : {20u, 16u, 12u, 8u}) uuid.insert(at, 1, '-');
    out += "UUID(\"" + uuid + "\")";
  } else {
    out += "BinData(" + std::to_string(binary.subtype) + ", " + uppercase_hex(binary.bytes) + ")";
  }
}

// Unlike JSON's, the quoted text is not escaped.
void shell_value(std::string& out, const ValueView& value) {
  const auto quoted = [&](std::string_view text) { out.append("\"").append(text).append("\""); };
  switch (value.type()) {
    case Type::eod: out += "missing"; return;
    case Type::number_double: {
      const double number = value.as_double();
      out += std::isnan(number) ? "nan.0" : std::isinf(number) ? (number < 0 ? "-inf.0" : "inf.0") : double_text(number);
      return;
    }
    case Type::int32: out += std::to_string(value.as_int32()); return;
    case Type::int64: out += std::to_string(value.as_int64()); return;
    case Type::decimal128: out += decimal_to_string(value.as_decimal128()); return;
    case Type::string: return quoted(value.as_string());
    case Type::symbol: return quoted(value.as_string());
    case Type::object: return shell_document(out, value.as_document());
    case Type::array: return shell_array(out, value.as_document());
    case Type::binary: return shell_binary(out, value.as_binary());
    case Type::undefined: out += "undefined"; return;
    case Type::object_id: out += "ObjectId('" + value.as_object_id().to_hex() + "')"; return;
    case Type::boolean: out += value.as_bool() ? "true" : "false"; return;
    case Type::date: out += "new Date(" + std::to_string(value.as_date().ms) + ")"; return;
    case Type::null: out += "null"; return;
    case Type::regex: out.append("/").append(value.as_regex().pattern).append("/").append(value.as_regex().options); return;
    case Type::db_pointer:
      out += "DBRef('";
      out.append(value.db_pointer_namespace()).append("',").append(value.db_pointer_id().to_hex()).append(")");
      return;
    case Type::code: out += value.as_string(); return;
    case Type::code_with_scope:
      out.append("CodeWScope( ").append(value.code_with_scope_code()).append(", ");
      shell_document(out, value.code_with_scope_scope());
      out += ")";
      return;
    case Type::timestamp:
      out += "Timestamp(" + std::to_string(value.as_timestamp().seconds) + ", " + std::to_string(value.as_timestamp().increment) +
             ")";
      return;
    case Type::max_key: out += "MaxKey"; return;
    case Type::min_key: out += "MinKey"; return;
  }
}

}  // namespace

std::string to_json(DocumentView document, JsonMode mode) {
  std::string out;
  Writer(out, mode).document(document);
  return out;
}

std::string to_json(const ValueView& value, JsonMode mode) {
  std::string out;
  Writer(out, mode).value(value);
  return out;
}

std::string to_shell(DocumentView document) {
  std::string out;
  shell_document(out, document);
  return out;
}

std::string to_shell(const ValueView& value) {
  std::string out;
  shell_value(out, value);
  return out;
}

}  // namespace bson
