#include <algorithm>
#include <cctype>
#include <cstring>
#include <unordered_set>

#include "bson/builder.h"
#include "server/core/text.h"
#include "server/query/expressions/operator_support.h"
#include "server/query/expressions/text.h"

namespace server::query {
namespace {

Value concat(Frame& frame, std::string_view, Arguments a) {
  Growth growth = frame.growth();
  std::string out;
  for (const ValueView& argument : a) {
    if (argument.is_nullish()) return Value::null();
    if (!argument.is_string()) fail(16702, "$concat only supports strings, not " + named(argument));
    bson::check_buffer_bytes(out.size() + argument.as_string().size());
    growth.reach(out.size() + argument.as_string().size());
    out += argument.as_string();
  }
  frame.hold(out.size());  // the value's copy
  return Value(out);
}

// Case operators and $substr take any value that has a text.
Value to_upper(std::string_view, Arguments a) {
  std::string text = coerce_to_string(a[0]);
  for (char& c : text) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 32 : c);
  return Value(text);
}

Value to_lower(std::string_view, Arguments a) {
  std::string text = coerce_to_string(a[0]);
  for (char& c : text) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  return Value(text);
}

Value strcasecmp_(std::string_view, Arguments a) {
  // The letters between upper and lower case, like '_', come after both.
  const auto upper = [](std::string text) {
    for (char& c : text) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 32 : c);
    return text;
  };
  const int order = upper(coerce_to_string(a[0])).compare(upper(coerce_to_string(a[1])));
  return Value(order < 0 ? -1 : order > 0 ? 1 : 0);
}

Value length_bytes(std::string_view, Arguments a) {
  if (!a[0].is_string()) fail(34473, "$strLenBytes requires a string argument, found: " + named(a[0]));
  return Value(static_cast<int32_t>(a[0].as_string().size()));
}

Value binary_size(std::string_view, Arguments a) {
  if (a[0].is_nullish()) return Value::null();
  if (a[0].type() == Type::binary) return Value(static_cast<int32_t>(a[0].as_binary().bytes.size()));
  if (!a[0].is_string()) fail(51276, "$binarySize requires a string or BinData argument, found: " + named(a[0]));
  return Value(static_cast<int32_t>(a[0].as_string().size()));
}

Value length_points(std::string_view, Arguments a) {
  if (!a[0].is_string()) fail(34471, "$strLenCP requires a string argument, found: " + named(a[0]));
  return Value(static_cast<int32_t>(code_points(a[0].as_string())));
}

Value substr_bytes(std::string_view name, Arguments a) {
  const std::string text = coerce_to_string(a[0]);
  const std::string op(name);
  if (!a[1].is_number()) fail(16034, op + ":  starting index must be a numeric type (is BSON type " + named(a[1]) + ")");
  if (!a[2].is_number()) fail(16035, op + ":  length must be a numeric type (is BSON type " + named(a[2]) + ")");
  const int64_t from = a[1].to_int64();
  int64_t length = a[2].to_int64();
  if (from < 0) fail(50752, op + ":  starting index must be non-negative (got: " + std::to_string(from) + ")");
  if (static_cast<uint64_t>(from) >= text.size()) return Value("");
  if (length < 0) length = static_cast<int64_t>(text.size());
  const size_t end = std::min<uint64_t>(text.size(), static_cast<uint64_t>(from) + static_cast<uint64_t>(length));
  const auto continues = [&](size_t at) { return at < text.size() && (static_cast<uint8_t>(text[at]) & 0xc0) == 0x80; };
  if (continues(static_cast<size_t>(from))) {
    fail(28656, op + ":  Invalid range, starting index is a UTF-8 continuation byte.");
  }
  if (continues(end)) fail(28657, op + ":  Invalid range, ending index is in the middle of a UTF-8 character.");
  return Value(std::string_view(text).substr(static_cast<size_t>(from), end - static_cast<size_t>(from)));
}

Value substr_points(std::string_view, Arguments a) {
  const std::string text = coerce_to_string(a[0]);
  const auto from = whole_number(a[1]);
  const auto length = whole_number(a[2]);
  if (!a[1].is_number()) fail(34450, "$substrCP: starting index must be a numeric type (is BSON type " + named(a[1]) + ")");
  if (!from) fail(34451, "$substrCP: starting index cannot be represented as a 32-bit integral value: " + value_text(a[1]));
  if (!a[2].is_number()) fail(34452, "$substrCP: length must be a numeric type (is BSON type " + named(a[2]) + ")");
  if (!length) fail(34453, "$substrCP: length cannot be represented as a 32-bit integral value: " + value_text(a[2]));
  if (*length < 0) fail(34454, "$substrCP: length must be a nonnegative integer.");
  if (*from < 0) fail(34455, "$substrCP: the starting index must be nonnegative integer.");
  const size_t begin = byte_of_point(text, static_cast<size_t>(*from));
  const std::string_view rest = std::string_view(text).substr(begin);
  return Value(rest.substr(0, byte_of_point(rest, static_cast<size_t>(*length))));
}

// Does what text.find(sought, from) does, in a time that grows with both lengths instead of their product.
size_t find_in(Frame& frame, std::string_view text, std::string_view sought, size_t from) {
  constexpr size_t least_window = 1 << 20;
  const size_t window = std::max(least_window, sought.size());
  for (size_t at = from; at + sought.size() <= text.size(); at += window) {
    // Matches that begin in the window are looked for.
    const std::string_view part = text.substr(at, window + sought.size() - 1 + sought.empty());
    const void* const found = ::memmem(part.data(), part.size(), sought.data(), sought.size());
    const size_t place = found ? static_cast<size_t>(static_cast<const char*>(found) - part.data()) : part.size();
    frame.work_on(sought.size() + place);
    if (found) return at + place;
  }
  return std::string_view::npos;
}

Value split(Frame& frame, std::string_view, Arguments a) {
  if (any_nullish(a)) return Value::null();
  if (!a[0].is_string()) {
    fail(40085, "$split requires an expression that evaluates to a string as a first argument, found: " + named(a[0]));
  }
  if (!a[1].is_string()) {
    fail(40086, "$split requires an expression that evaluates to a string as a second argument, found: " + named(a[1]));
  }
  const std::string_view text = a[0].as_string(), separator = a[1].as_string();
  if (separator.empty()) fail(40087, "$split requires a non-empty separator");
  Growth growth = frame.growth();
  bson::ArrayBuilder out;
  for (size_t at = 0;;) {
    frame.work();
    growth.reach(out.size());
    const size_t found = find_in(frame, text, separator, at);
    out.append(text.substr(at, found - at));
    if (found == std::string_view::npos) return out.done_value();
    at = found + separator.size();
  }
}

struct Range {
  size_t from = 0;
  size_t to = SIZE_MAX;
};

Range search_range(std::string_view name, Arguments a) {
  Range range;
  if (a.size() > 2) range.from = static_cast<size_t>(search_limit(name, "starting index", a[2]));
  if (a.size() > 3) range.to = static_cast<size_t>(search_limit(name, "ending index", a[3]));
  return range;
}

void check_searched(std::string_view name, Arguments a, int first, int second) {
  const std::string op(name);
  if (!a[0].is_string()) fail(first, op + " requires a string as the first argument, found: " + named(a[0]));
  if (!a[1].is_string()) fail(second, op + " requires a string as the second argument, found: " + named(a[1]));
}

Value index_of_bytes(Frame& frame, std::string_view name, Arguments a) {
  if (a[0].is_nullish()) return Value::null();
  check_searched(name, a, 40091, 40092);
  const Range range = search_range(name, a);
  std::string_view text = a[0].as_string();
  if (range.from > text.size() || range.to < range.from) return Value(int32_t{-1});
  text = text.substr(0, std::min(range.to, text.size()));
  const size_t found = find_in(frame, text, a[1].as_string(), range.from);
  return Value(found == std::string_view::npos ? int32_t{-1} : static_cast<int32_t>(found));
}

Value index_of_points(Frame& frame, std::string_view name, Arguments a) {
  if (a[0].is_nullish()) return Value::null();
  check_searched(name, a, 40093, 40094);
  const Range range = search_range(name, a);
  const std::string_view text = a[0].as_string(), sought = a[1].as_string();
  frame.work_on(text.size());
  if (text.empty() && sought.empty()) return Value(range.from == 0 ? int32_t{0} : int32_t{-1});
  if (range.from >= code_points(text)) return Value(int32_t{-1});
  const size_t found = find_in(frame, text, sought, byte_of_point(text, range.from));
  if (found == std::string_view::npos) return Value(int32_t{-1});
  // The end limits where the text that is found begins; it may end behind it.
  const size_t point = code_points(text.substr(0, found));
  return Value(point < range.to ? static_cast<int32_t>(point) : int32_t{-1});
}

ExpressionPtr parse_trim(std::string_view name, const ValueView& value, Scope& scope) {
  const std::string op(name);
  ExpressionPtr input, chars;
  if (value.type() != Type::object) fail(50696, op + " only supports an object as an argument, found " + named(value));
  for (const bson::Element& field : value.as_document()) {
    if (field.name == "input") {
      input = parse_expression(field, scope);
    } else if (field.name == "chars") {
      chars = parse_expression(field, scope);
    } else {
      fail(50694, op + " found an unknown argument: " + std::string(field.name));
    }
  }
  if (!input) fail(50695, op + " requires an 'input' field");
  const bool left = name != "$rtrim", right = name != "$ltrim";
  return evaluated([op, input = std::move(input), chars = std::move(chars), left, right](Frame& frame) {
    const Value text = input->evaluate(frame);
    if (text.view().is_nullish()) return Value::null();
    if (text.type() != Type::string) {
      fail(50699, op + " requires its input to be a string, got " + value_text(text) + " (of type " + named(text) + ") instead.");
    }
    std::unordered_set<std::string_view> trimmed(whitespace_points().begin(), whitespace_points().end());
    const Value given = chars ? chars->evaluate(frame) : Value();
    if (chars) {
      if (given.view().is_nullish()) return Value::null();
      if (given.type() != Type::string) {
        fail(50700,
             op + " requires 'chars' to be a string, got " + value_text(given) + " (of type " + named(given) + ") instead.");
      }
      trimmed.clear();
      for (std::string_view all = given.view().as_string(); !all.empty(); all.remove_prefix(first_point(all).size())) {
        frame.work();
        trimmed.insert(first_point(all));
      }
    }
    std::string_view rest = text.view().as_string();
    for (; left && !rest.empty() && trimmed.contains(first_point(rest)); rest.remove_prefix(first_point(rest).size()))
      frame.work();
    for (; right && !rest.empty() && trimmed.contains(last_point(rest)); rest.remove_suffix(last_point(rest).size()))
      frame.work();
    frame.hold(rest.size());
    return Value(rest);
  });
}

ExpressionPtr parse_replace(std::string_view name, const ValueView& value, Scope& scope) {
  const std::string op(name);
  Parameter parameters[] = {
      {"input", true, nullptr, 51749}, {"find", true, nullptr, 51748}, {"replacement", true, nullptr, 51747}};
  if (value.type() != Type::object) fail(51751, op + " requires an object as an argument, found: " + named(value));
  parse_parameters(name, value, scope, parameters, 51751, {51750, op + " found an unknown argument: {}"},
                   {51749, op + " requires '{}' to be specified"});
  return evaluated([op, all = name == "$replaceAll", input = std::move(parameters[0].expression),
                    find = std::move(parameters[1].expression), with = std::move(parameters[2].expression)](Frame& frame) {
    const Value values[] = {input->evaluate(frame), find->evaluate(frame), with->evaluate(frame)};
    static constexpr const char* names[] = {"input", "find", "replacement"};
    static constexpr int codes[] = {51746, 51745, 51744};
    bool null = false;
    for (int i = 0; i < 3; ++i) {
      if (values[i].view().is_nullish()) {
        null = true;
      } else if (values[i].type() != Type::string) {
        fail(codes[i], op + " requires that '" + names[i] + "' be a string, found: " + value_text(values[i]));
      }
    }
    if (null) return Value::null();
    const std::string_view text = values[0].view().as_string(), sought = values[1].view().as_string();
    std::string out;
    size_t at = 0;
    const std::string_view replacement = values[2].view().as_string();
    Growth growth = frame.growth();
    for (size_t found; (found = find_in(frame, text, sought, at)) != std::string_view::npos;) {
      frame.work();
      bson::check_buffer_bytes(out.size() + (found - at) + replacement.size());
      growth.reach(out.size() + (found - at) + replacement.size());
      out.append(text.substr(at, found - at)).append(replacement);
      at = found + sought.size();
      if (!all) break;
      if (sought.empty()) {  // it is found between any two characters
        if (at >= text.size()) break;
        const std::string_view character = character_at(text, at);
        out.append(character);
        at += character.size();
      }
    }
    const std::string_view rest = text.substr(std::min(at, text.size()));
    bson::check_buffer_bytes(out.size() + rest.size());
    growth.reach(out.size() + rest.size());
    out.append(rest);
    frame.hold(out.size());  // the value's copy
    return Value(out);
  });
}

constexpr OperatorEntry entries[] = {
    {"$concat", working_function_of<concat, 0, -1>},
    {"$toUpper", function_of<to_upper, 1>},
    {"$toLower", function_of<to_lower, 1>},
    {"$strcasecmp", function_of<strcasecmp_, 2>},
    {"$strLenBytes", function_of<length_bytes, 1>},
    {"$binarySize", function_of<binary_size, 1>},
    {"$strLenCP", function_of<length_points, 1>},
    {"$substr", function_of<substr_bytes, 3>},
    {"$substrBytes", function_of<substr_bytes, 3>},
    {"$substrCP", function_of<substr_points, 3>},
    {"$split", working_function_of<split, 2>},
    {"$indexOfBytes", working_function_of<index_of_bytes, 2, 4>},
    {"$indexOfCP", working_function_of<index_of_points, 2, 4>},
    {"$trim", parse_trim},
    {"$ltrim", parse_trim},
    {"$rtrim", parse_trim},
    {"$replaceOne", parse_replace},
    {"$replaceAll", parse_replace},
};

}  // namespace

std::span<const OperatorEntry> string_operators() {
  return entries;
}

}  // namespace server::query
