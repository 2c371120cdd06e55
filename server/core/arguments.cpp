#include "server/core/arguments.h"

#include <algorithm>

#include "base/error.h"
#include "server/core/command.h"

namespace server {

using base::ErrorCode;
using base::OperationError;
using bson::Type;

namespace {

// MongoDB's parser closes the list of expected types with the quote inside the
// bracket; clients match on the text, so it stays that way.
std::string wrong_type(const std::string& path, Type found, std::initializer_list<Type> types) {
  std::string text = "BSON field '" + path + "' is the wrong type '" + std::string(bson::type_name(found)) + "', expected type";
  if (types.size() == 1) return text + " '" + std::string(bson::type_name(*types.begin())) + "'";
  text += "s '[";
  for (Type type : types) {
    if (text.back() != '[') text += ", ";
    text += bson::type_name(type);
  }
  return text + "']";
}

constexpr std::initializer_list<Type> numbers = {Type::int64, Type::int32, Type::decimal128, Type::number_double};
constexpr std::initializer_list<Type> booleans = {Type::boolean, Type::int64, Type::int32, Type::decimal128, Type::number_double};

}  // namespace

Arguments::Arguments(const Request& request) : Arguments(request.command, request.body) {}

std::string Arguments::dotted(std::string_view name) const {
  return path_ + "." + std::string(name);
}

bson::Element Arguments::any(std::string_view name) const {
  const bson::Element element = fields_.find(name);
  return element.is_nullish() ? bson::Element() : element;
}

bson::Element Arguments::typed(std::string_view name, std::initializer_list<Type> types) const {
  const bson::Element element = any(name);
  if (!element.exists()) return element;
  for (Type type : types) {
    if (element.type() == type) return element;
  }
  throw OperationError(ErrorCode::type_mismatch, wrong_type(dotted(name), element.type(), types));
}

std::optional<std::string_view> Arguments::string(std::string_view name) const {
  const auto element = typed(name, {Type::string});
  return element.exists() ? std::optional(element.as_string()) : std::nullopt;
}

std::optional<bool> Arguments::boolean(std::string_view name) const {
  const auto element = typed(name, {Type::boolean});
  return element.exists() ? std::optional(element.as_bool()) : std::nullopt;
}

std::optional<bool> Arguments::loose_boolean(std::string_view name) const {
  const auto element = typed(name, booleans);
  return element.exists() ? std::optional(element.truthy()) : std::nullopt;
}

std::optional<int64_t> Arguments::integer(std::string_view name) const {
  const auto element = typed(name, numbers);
  return element.exists() ? std::optional(element.to_int64()) : std::nullopt;
}

std::optional<int64_t> Arguments::unsigned_integer(std::string_view name) const {
  const auto value = integer(name);
  if (value && *value < 0) {
    throw OperationError(
        51024, "BSON field '" + std::string(name) + "' value must be >= 0, actual value '" + std::to_string(*value) + "'");
  }
  return value;
}

std::optional<double> Arguments::number(std::string_view name) const {
  const auto element = typed(name, numbers);
  return element.exists() ? std::optional(element.to_double()) : std::nullopt;
}

std::optional<bson::DocumentView> Arguments::object(std::string_view name) const {
  const auto element = typed(name, {Type::object});
  return element.exists() ? std::optional(element.as_document()) : std::nullopt;
}

std::optional<bson::DocumentView> Arguments::array(std::string_view name) const {
  const auto element = typed(name, {Type::array});
  return element.exists() ? std::optional(element.as_document()) : std::nullopt;
}

void Arguments::missing(std::string_view name) const {
  throw OperationError(40414, "BSON field '" + dotted(name) + "' is missing but a required field");
}

std::string_view Arguments::required_string(std::string_view name) const {
  const auto value = string(name);
  return value ? *value : (missing(name), std::string_view());
}

int64_t Arguments::required_integer(std::string_view name) const {
  const auto value = integer(name);
  return value ? *value : (missing(name), 0);
}

bson::DocumentView Arguments::required_object(std::string_view name) const {
  const auto value = object(name);
  return value ? *value : (missing(name), bson::DocumentView());
}

bson::DocumentView Arguments::required_array(std::string_view name) const {
  const auto value = array(name);
  return value ? *value : (missing(name), bson::DocumentView());
}

void Arguments::only(std::initializer_list<std::string_view> names) const {
  for (auto at = fields_.begin(); at != fields_.end(); ++at) {
    // The loop has few fields to look at: it ends at the first name that is unknown or came before.
    for (auto before = fields_.begin(); before != at; ++before) {
      if (before->name == at->name) throw OperationError(40413, "BSON field '" + dotted(at->name) + "' is a duplicate field");
    }
    const bool known = std::find(names.begin(), names.end(), at->name) != names.end();
    if (!known) throw OperationError(40415, "BSON field '" + dotted(at->name) + "' is an unknown field.");
  }
}

}  // namespace server
