#include "server/core/parameters.h"

#include <charconv>

#include "base/error.h"

namespace server {

using base::ErrorCode;
using base::OperationError;

namespace {

// --setParameter takes x=5, x=true and x=text: numbers and booleans are recognised.
bson::Value value_from_text(const std::string& text) {
  if (text == "true" || text == "false") return bson::Value(text == "true");
  int64_t whole = 0;
  const char* const end = text.data() + text.size();
  if (auto [at, error] = std::from_chars(text.data(), end, whole); error == std::errc() && at == end) return bson::Value(whole);
  double real = 0;
  if (auto [at, error] = std::from_chars(text.data(), end, real); error == std::errc() && at == end) return bson::Value(real);
  return bson::Value(text);
}

[[noreturn]] void out_of_range(const std::string& name, int64_t value, const char* word, int64_t limit) {
  throw OperationError(ErrorCode::bad_value, "Invalid value for parameter " + name + ": " + std::to_string(value) + " is not " +
                                                 word + " than or equal to " + std::to_string(limit));
}

}  // namespace

void ServerParameters::add(std::string name, Parameter parameter) {
  base::check(parameters_.emplace(std::move(name), std::move(parameter)).second, "two parameters of one name");
}

void ServerParameters::add_integer(std::string name, std::atomic<int64_t>& value, const Range& range) {
  auto set = [name, &value, range](const bson::ValueView& given) {
    if (!given.is_number()) throw OperationError(ErrorCode::bad_value, "Invalid value for parameter " + name + ": not a number");
    const int64_t number = given.to_int64();
    if (number < range.min) out_of_range(name, number, "greater", range.min);
    if (number > range.max) out_of_range(name, number, "less", range.max);
    value = number;
  };
  auto get = [&value] {
    const int64_t number = value;
    return number == static_cast<int32_t>(number) ? bson::Value(static_cast<int32_t>(number)) : bson::Value(number);
  };
  add(std::move(name), {std::move(get), std::move(set), true, range.at_runtime});
}

void ServerParameters::add_boolean(std::string name, std::atomic<bool>& value, bool at_runtime) {
  auto set = [name, &value](const bson::ValueView& given) {
    if (given.type() != bson::Type::boolean && !given.is_number()) {
      throw OperationError(ErrorCode::bad_value, "Invalid value for parameter " + name + ": not a boolean");
    }
    value = given.truthy();
  };
  add(std::move(name), {[&value] { return bson::Value(value.load()); }, std::move(set), true, at_runtime});
}

const ServerParameters::Parameter* ServerParameters::find(std::string_view name) const {
  auto found = parameters_.find(name);
  return found == parameters_.end() ? nullptr : &found->second;
}

bson::Value ServerParameters::set(std::string_view name, const bson::ValueView& value) {
  const Parameter* parameter = find(name);
  if (!parameter) {
    throw OperationError(ErrorCode::invalid_options,
                         "attempted to set unrecognized parameter [" + std::string(name) + "], use help:true to see options ");
  }
  if (!parameter->at_runtime || !parameter->set) {
    throw OperationError(ErrorCode::illegal_operation, "not allowed to change [" + std::string(name) + "] at runtime");
  }
  const base::MutexLock lock(setting_);
  bson::Value before = parameter->get();
  parameter->set(value);
  return before;
}

void ServerParameters::set_at_startup(std::string_view name, const std::string& text) {
  const Parameter* parameter = find(name);
  if (!parameter) throw OperationError(ErrorCode::bad_value, "Unknown --setParameter '" + std::string(name) + "'");
  if (!parameter->at_startup || !parameter->set) {
    throw OperationError(ErrorCode::bad_value, "Cannot use --setParameter to set '" + std::string(name) + "' at startup");
  }
  parameter->set(value_from_text(text));
}

}  // namespace server
