#include <charconv>
#include <cmath>
#include <limits>

#include "bson/builder.h"
#include "bson/json.h"
#include "bson/json_types.h"
#include "bson/numeric.h"

namespace bson {
namespace {

struct ParseError {
  std::string message;
  size_t offset;
};

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' ||
         static_cast<uint8_t>(c) >= 0x80;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Value whole() {
    Value result = value(0);
    skip_space();
    if (at_ != text_.size()) fail("expected the end");
    return result;
  }

 private:
  Value value(int depth);
  Value object(int depth);
  Value array(int depth, char close);
  Value number();
  Value named(int depth);
  Value regex();
  std::string quoted();
  std::string name();
  void escape(std::string& out);
  uint32_t hex4();
  std::string_view word();
  void skip_space();
  void skip_comment();

  [[noreturn]] void fail(std::string message) const { throw ParseError{std::move(message), at_}; }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool take(char c) {
    skip_space();
    if (peek() != c || at_ == text_.size()) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) fail(std::string("expected '") + c + "'");
  }

  std::string_view text_;
  size_t at_ = 0;
};

void Parser::skip_comment() {
  const bool line = text_.substr(at_, 2) == "//";
  const size_t end = text_.find(line ? "\n" : "*/", at_ + 2);
  if (end == text_.npos && !line) fail("a comment without an end");
  at_ = end == text_.npos ? text_.size() : end + (line ? 1 : 2);
}

void Parser::skip_space() {
  for (;;) {
    while (at_ < text_.size() && (text_[at_] == ' ' || (text_[at_] >= '\t' && text_[at_] <= '\r'))) ++at_;
    const std::string_view next = text_.substr(at_, 2);
    if (next != "//" && next != "/*") return;
    skip_comment();
  }
}

Value Parser::value(int depth) {
  if (depth > nesting_max) fail("too many levels");
  skip_space();
  const char c = peek();
  if (c == '{') return object(depth);
  if (c == '[') return ++at_, array(depth, ']');
  if (c == '"' || c == '\'') return Value(quoted());
  if (c == '/') return regex();
  if (c == '-' || c == '+' || c == '.' || (c >= '0' && c <= '9')) return number();
  return named(depth);
}

// The first name decides whether it is one of the objects that stand for a value.
Value Parser::object(int depth) {
  expect('{');
  Builder builder;
  bool special = false;
  for (bool first = true; !take('}'); first = false) {
    const std::string field = name();
    expect(':');
    if (first) special = json_types::is_wrapper(field);
    builder.append(field, value(depth + 1));
    if (!take(',')) {
      expect('}');
      break;
    }
  }
  Document document = builder.done();
  if (!special) return Value(std::move(document));
  const Value unwrapped = json_types::unwrap(document);
  if (!unwrapped.exists()) fail("malformed " + std::string(document.view().first().name));
  return unwrapped;
}

Value Parser::array(int depth, char close) {
  ArrayBuilder builder;
  while (!take(close)) {
    builder.append(value(depth + 1));
    if (!take(',')) {
      expect(close);
      break;
    }
  }
  return builder.done_value();
}

Value Parser::number() {
  const size_t start = at_;
  while (at_ < text_.size() && (is_name_character(text_[at_]) || text_[at_] == '.' || text_[at_] == '-' || text_[at_] == '+'))
    ++at_;
  const Value result = json_types::number(text_.substr(start, at_ - start));
  if (!result.exists()) at_ = start, fail("malformed number");
  return result;
}

Value Parser::named(int depth) {
  const size_t start = at_;
  std::string_view name = word();
  if (name == "new") {
    skip_space();
    name = word();
  }
  if (name == "true" || name == "false") return Value(name == "true");
  if (name == "null") return Value::null();
  if (name == "undefined") return Value(ValueView(Type::undefined, {}));
  if (name == "NaN") return Value(std::numeric_limits<double>::quiet_NaN());
  if (name == "Infinity") return Value(std::numeric_limits<double>::infinity());
  Value arguments = take('(') ? array(depth + 1, ')') : Value::array(Document());
  Value result = json_types::call(name, arguments.view().as_document());
  if (!result.exists()) at_ = start, fail("unknown or malformed value");
  return result;
}

Value Parser::regex() {
  ++at_;
  std::string pattern;
  bool in_class = false;
  for (;; ++at_) {
    const char c = peek();
    if (c == '\0' || c == '\n') fail("a regular expression without an end");
    if (c == '/' && !in_class) break;
    if (c == '[') in_class = true;
    if (c == ']') in_class = false;
    // Within a regular expression a slash has a backslash in front of it, which isn't part of the pattern.
    if (c == '\\' && at_ + 1 < text_.size()) {
      if (text_[++at_] != '/') pattern.push_back('\\');
      if (peek() == '\0') fail("a regular expression without an end");
    }
    pattern.push_back(peek());
  }
  ++at_;
  return json_types::regex(pattern, word());
}

std::string_view Parser::word() {
  const size_t start = at_;
  while (at_ < text_.size() && is_name_character(text_[at_])) ++at_;
  return text_.substr(start, at_ - start);
}

std::string Parser::name() {
  skip_space();
  const bool bare = peek() != '"' && peek() != '\'';
  std::string result = bare ? std::string(word()) : quoted();
  if (bare && result.empty()) fail("expected a name");
  if (result.find('\0') != result.npos) fail("a name must not contain NUL");
  return result;
}

std::string Parser::quoted() {
  const char quote = text_[at_++];
  std::string result;
  for (;;) {
    if (at_ == text_.size()) fail("a string without an end");
    const char c = text_[at_++];
    if (c == quote) return result;
    if (c == '\\') {
      escape(result);
    } else {
      result.push_back(c);
    }
  }
}

uint32_t Parser::hex4() {
  uint32_t unit = 0;
  if (text_.size() - at_ < 4) fail("malformed escape");
  const auto parsed = std::from_chars(text_.data() + at_, text_.data() + at_ + 4, unit, 16);
  if (parsed.ec != std::errc() || parsed.ptr != text_.data() + at_ + 4) fail("malformed escape");
  at_ += 4;
  return unit;
}

void Parser::escape(std::string& out) {
  if (at_ == text_.size()) fail("a string without an end");
  const char c = text_[at_++];
  switch (c) {
    case 'n': return out.push_back('\n');
    case 'r': return out.push_back('\r');
    case 't': return out.push_back('\t');
    case 'b': return out.push_back('\b');
    case 'f': return out.push_back('\f');
    case 'u': break;
    case '"':
    case '\'':
    case '\\':
    case '/': return out.push_back(c);
    default: --at_, fail("malformed escape");
  }
  uint32_t point = hex4();
  if (point >= 0xd800 && point < 0xdc00 && text_.substr(at_, 2) == "\\u") {
    at_ += 2;
    const uint32_t low = hex4();
    if (low < 0xdc00 || low > 0xdfff) fail("half of a surrogate pair");
    point = 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00);
  }
  if (point >= 0xd800 && point < 0xe000) fail("half of a surrogate pair");
  json_types::append_utf8(out, point);
}

base::Failure failure(const ParseError& error) {
  return {base::ErrorCode::failed_to_parse, error.message + " at offset " + std::to_string(error.offset)};
}

}  // namespace

base::Result<Value> value_from_json(std::string_view text) {
  try {
    return Parser(text).whole();
  } catch (const ParseError& error) {
    return failure(error);
  }
}

base::Result<Document> from_json(std::string_view text) {
  auto value = value_from_json(text);
  if (!value.ok()) return value.failure();
  if (value->type() != Type::object) return failure({"expected an object", 0});
  return Document(value->view().as_document());
}

Document json(std::string_view text) {
  return from_json(text).or_throw();
}

}  // namespace bson
