#include <cctype>
#include <charconv>
#include <cmath>

#include "bson/arithmetic.h"
#include "bson/hashed_key.h"
#include "bson/json.h"
#include "bson/numeric.h"
#include "server/core/text.h"
#include "server/query/expressions/date_text.h"
#include "server/query/expressions/operator_support.h"
#include "server/query/expressions/text.h"

namespace server::query {
namespace {

constexpr int conversion_failure = static_cast<int>(base::ErrorCode::conversion_failure);

[[noreturn]] void unsupported(const ValueView& from, Type to) {
  fail(conversion_failure, "Unsupported conversion from " + named(from) + " to " + std::string(bson::type_name(to)) +
                               " in $convert with no onError value");
}
[[noreturn]] void overflow(const ValueView& from) {
  // MongoDB names no integer.
  fail(conversion_failure, "Conversion would overflow target type in $convert with no onError value: " +
                               (from.is_integer() ? "" : number_text(from)));
}
[[noreturn]] void unreadable(const ValueView& from, const std::string& what, const std::string& why) {
  fail(conversion_failure,
       "Failed to parse " + what + " '" + std::string(from.as_string()) + "' in $convert with no onError value: " + why);
}

// `rest`: what comes after the digits that were read; `digits`: there were some; `range`: why the number is refused for its size.
[[noreturn]] void unreadable_number(const ValueView& from, bool digits, bool rest, const char* range) {
  if (from.as_string().starts_with("0x")) {
    fail(conversion_failure, "Illegal hexadecimal input in $convert with no onError value: " + std::string(from.as_string()));
  }
  unreadable(from, "number", rest ? "Did not consume whole string." : digits ? range : "Did not consume any digits");
}

Value to_bool(const ValueView& from) {
  if (from.is_number() || from.type() == Type::boolean) return Value(from.truthy());
  return Value(true);
}

bool sign_only(std::string_view text) {
  return text.empty() || text == "+" || text == "-";
}

// std::from_chars knows no plus. Returns how many bytes it must not see.
size_t sign_bytes(std::string_view text) {
  return text.size() > 1 && text[0] == '+' && text[1] != '-' ? 1 : 0;
}

template <class Int>
Value to_integer(const ValueView& from, Type type) {
  switch (from.type()) {
    case Type::boolean: return Value(static_cast<Int>(from.as_bool()));
    case Type::date:
      if constexpr (sizeof(Int) == 8) return Value(from.as_date().ms);
      unsupported(from, type);
    case Type::string: {
      const std::string_view text = from.as_string();
      Int parsed = 0;
      const char* begin = text.data() + sign_bytes(text);
      const auto end = std::from_chars(begin, text.data() + text.size(), parsed);
      if (end.ec == std::errc() && end.ptr == text.data() + text.size()) return Value(parsed);
      if (sign_only(text)) unreadable(from, "number", "No digits");
      unreadable_number(from, end.ec == std::errc::result_out_of_range, end.ptr != text.data() + text.size(), "Overflow");
    }
    default: break;
  }
  if (!from.is_number()) unsupported(from, type);
  if (bson::number::is_nan(from))
    fail(conversion_failure, "Attempt to convert NaN value to integer type in $convert with no onError value");
  if (bson::number::is_infinite(from)) {
    fail(conversion_failure, "Attempt to convert infinity value to integer type in $convert with no onError value");
  }
  const auto whole = bson::number::exact_int64(bson::number::trunc(from));
  if (!whole || *whole < std::numeric_limits<Int>::min() || *whole > std::numeric_limits<Int>::max()) overflow(from);
  return Value(static_cast<Int>(*whole));
}

Value to_double(const ValueView& from) {
  if (from.type() == Type::boolean) return Value(from.as_bool() ? 1.0 : 0.0);
  if (from.type() == Type::date) return Value(static_cast<double>(from.as_date().ms));
  if (from.is_number()) {
    const double value = from.to_double();
    if (std::isinf(value) && !bson::number::is_infinite(from)) overflow(from);
    return Value(value);
  }
  if (!from.is_string()) unsupported(from, Type::number_double);
  const std::string text(from.as_string());
  double parsed = 0;
  const char* begin = text.c_str() + sign_bytes(text);
  const auto end = std::from_chars(begin, text.c_str() + text.size(), parsed);
  if (end.ec == std::errc() && end.ptr == text.c_str() + text.size()) return Value(parsed);
  if (text.empty()) unreadable(from, "number", "Empty string");
  if (std::isspace(static_cast<unsigned char>(text[0]))) unreadable(from, "number", "Leading whitespace");
  const bool digits = end.ec != std::errc::invalid_argument;
  unreadable_number(from, digits, digits && end.ptr != text.c_str() + text.size(), "Out of range");
}

Value to_decimal(const ValueView& from) {
  if (from.type() == Type::boolean) return Value(bson::decimal_from_int64(from.as_bool()));
  if (from.type() == Type::date) return Value(bson::decimal_from_int64(from.as_date().ms));
  if (from.is_number()) return Value(bson::number::to_decimal(from));
  if (!from.is_string()) unsupported(from, Type::decimal128);
  const auto parsed = bson::decimal_from_string(from.as_string());
  if (!parsed && from.as_string().empty()) unreadable(from, "number", "Empty string");
  if (!parsed) unreadable_number(from, true, false, "Failed to parse string to decimal");
  return Value(*parsed);
}

Value to_date(const ValueView& from) {
  switch (from.type()) {
    case Type::date: return Value(from.as_date());
    case Type::timestamp: return Value(bson::Date{int64_t{from.as_timestamp().seconds} * 1000});
    case Type::object_id: {
      const auto& bytes = from.as_object_id().bytes;
      return Value(bson::Date{
          int64_t{(uint32_t{bytes[0]} << 24) | (uint32_t{bytes[1]} << 16) | (uint32_t{bytes[2]} << 8) | bytes[3]} * 1000});
    }
    case Type::string: {
      if (const auto parsed = bson::date_from_string(from.as_string())) return Value(*parsed);
      const auto read = read_date_text(from.as_string());
      if (!read) fail(conversion_failure, "Error parsing date string '" + std::string(from.as_string()) + "'");
      return Value(bson::Date{read->local.time_since_epoch().count()});
    }
    case Type::int64:
    case Type::number_double:
    case Type::decimal128: {
      const Value ms = to_integer<int64_t>(from, Type::date);
      return Value(bson::Date{ms.view().as_int64()});
    }
    default: unsupported(from, Type::date);
  }
}

Value to_object_id(const ValueView& from) {
  if (from.type() == Type::object_id) return Value(from);
  if (!from.is_string()) unsupported(from, Type::object_id);
  const std::string_view text = from.as_string();
  if (text.size() != 24) {
    unreadable(from, "objectId",
               "Invalid string length for parsing to OID, expected 24 but found " + std::to_string(text.size()));
  }
  for (size_t i = 0; i < text.size(); ++i) {
    if (std::isxdigit(static_cast<unsigned char>(text[i]))) continue;
    unreadable(from, "objectId", "Invalid character found in hex string: " + std::string(character_at(text, i)));
  }
  bson::ObjectId id;
  for (size_t i = 0; i < 12; ++i) std::from_chars(text.data() + 2 * i, text.data() + 2 * i + 2, id.bytes[i], 16);
  return Value(id);
}

Value to_string(const ValueView& from) {
  switch (from.type()) {
    case Type::string: return Value(from);
    case Type::boolean: return Value(from.as_bool() ? "true" : "false");
    case Type::object_id: return Value(from.as_object_id().to_hex());
    case Type::date: return Value(iso_date(from.as_date()));
    default: break;
  }
  if (from.is_number()) return Value(number_text(from));
  unsupported(from, Type::string);
}

Value convert(const ValueView& from, Type to) {
  if (from.is_nullish()) return Value::null();
  switch (to) {
    case Type::number_double: return to_double(from);
    case Type::string: return to_string(from);
    case Type::object_id: return to_object_id(from);
    case Type::boolean: return to_bool(from);
    case Type::date: return to_date(from);
    case Type::int32: return to_integer<int32_t>(from, to);
    case Type::int64: return to_integer<int64_t>(from, to);
    case Type::decimal128: return to_decimal(from);
    default: unsupported(from, to);
  }
}

template <Type type>
ExpressionPtr parse_to(std::string_view name, const ValueView& value, Scope& scope) {
  auto arguments = parse_arguments(value, scope);
  if (arguments.size() != 1)
    fail(50723, std::string(name) + " requires a single argument, got " + std::to_string(arguments.size()));
  return make_function(
      name, std::move(arguments), [](Frame&, std::string_view, Arguments a) { return convert(a[0], type); }, true);
}

// Returns the number of a type as BSON has it, but -1 for MinKey, as MongoDB counts.
int number_of(Type type) {
  return type == Type::min_key ? -1 : static_cast<int>(type);
}

Type target_type(const ValueView& to) {
  // No value can be converted to types after decimal128.
  static constexpr Type targets[] = {
      Type::number_double, Type::string,     Type::object_id,  Type::boolean, Type::date,   Type::int32,
      Type::int64,         Type::decimal128, Type::object,     Type::array,   Type::binary, Type::undefined,
      Type::null,          Type::regex,      Type::db_pointer, Type::code,    Type::symbol, Type::code_with_scope,
      Type::timestamp,     Type::min_key,    Type::max_key,    Type::eod};  // which is called "missing"
  for (const Type type : targets) {
    if (to.is_string() && to.as_string() == bson::type_name(type)) return type;
    if (to.is_number() && to.to_double() == static_cast<double>(number_of(type))) return type;
  }
  if (to.is_string()) fail(static_cast<int>(base::ErrorCode::bad_value), "Unknown type name: " + std::string(to.as_string()));
  if (!to.is_number())
    fail(static_cast<int>(base::ErrorCode::failed_to_parse),
         "$convert's 'to' argument must be a string or number, but is " + named(to));
  const auto whole = whole_number(to);
  if (!whole) fail(static_cast<int>(base::ErrorCode::failed_to_parse), "In $convert, numeric 'to' argument is not an integer");
  fail(static_cast<int>(base::ErrorCode::failed_to_parse),
       "In $convert, numeric value for 'to' does not correspond to a BSON type: " + std::to_string(*whole));
}

ExpressionPtr parse_convert(std::string_view, const ValueView& value, Scope& scope) {
  if (!value.is_object()) {
    fail(static_cast<int>(base::ErrorCode::failed_to_parse),
         "$convert expects an object of named arguments but found: " + named(value));
  }
  ExpressionPtr input, target, on_error, on_null;
  for (const bson::Element& field : value.as_document()) {
    if (field.name == "input") {
      input = parse_expression(field, scope);
    } else if (field.name == "to") {
      target = parse_expression(field, scope);
    } else if (field.name == "onError") {
      on_error = parse_expression(field, scope);
    } else if (field.name == "onNull") {
      on_null = parse_expression(field, scope);
    } else {
      fail(static_cast<int>(base::ErrorCode::failed_to_parse), "$convert found an unknown argument: " + std::string(field.name));
    }
  }
  if (!input) fail(static_cast<int>(base::ErrorCode::failed_to_parse), "Missing 'input' parameter to $convert");
  if (!target) fail(static_cast<int>(base::ErrorCode::failed_to_parse), "Missing 'to' parameter to $convert");
  return evaluated([input = std::move(input), target = std::move(target), on_error = std::move(on_error),
                    on_null = std::move(on_null)](Frame& frame) {
    const Value from = input->evaluate(frame);
    const Value to = target->evaluate(frame);
    std::optional<Type> type;  // a wrong one is refused whatever the input is
    if (!to.view().is_nullish()) type = target_type(to);
    if (from.view().is_nullish()) return on_null ? on_null->evaluate(frame) : Value::null();
    if (!type) return Value::null();
    try {
      return convert(from, *type);
    } catch (const base::OperationError& error) {
      if (!on_error || error.code() != base::ErrorCode::conversion_failure) throw;
      return on_error->evaluate(frame);
    }
  });
}

Value type_of(std::string_view, Arguments a) {
  return Value(bson::type_name(a[0].type()));
}
Value is_number(std::string_view, Arguments a) {
  return Value(a[0].is_number());
}

// Its argument is one expression: an array is a value to hash, not a list of arguments.
ExpressionPtr parse_to_hashed_index_key(std::string_view, const ValueView& value, Scope& scope) {
  return evaluated([of = parse_expression(value, scope)](Frame& frame) {
    const Value given = of->evaluate(frame);
    return Value(bson::hashed_key(given.exists() ? given : Value::null()));
  });
}

constexpr OperatorEntry entries[] = {
    {"$convert", parse_convert},
    {"$toHashedIndexKey", parse_to_hashed_index_key},
    {"$toBool", parse_to<Type::boolean>},
    {"$toInt", parse_to<Type::int32>},
    {"$toLong", parse_to<Type::int64>},
    {"$toDouble", parse_to<Type::number_double>},
    {"$toDecimal", parse_to<Type::decimal128>},
    {"$toString", parse_to<Type::string>},
    {"$toDate", parse_to<Type::date>},
    {"$toObjectId", parse_to<Type::object_id>},
    {"$type", function_of<type_of, 1>},
    {"$isNumber", function_of<is_number, 1>},
};

}  // namespace

std::span<const OperatorEntry> conversion_operators() {
  return entries;
}

}  // namespace server::query
