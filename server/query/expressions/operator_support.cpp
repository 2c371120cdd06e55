#include "server/query/expressions/operator_support.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "base/bytes.h"
#include "server/core/text.h"
#include "server/query/expressions/text.h"

namespace server::query {
namespace {

class Function final : public Expression {
 public:
  Function(std::string_view name, std::vector<ExpressionPtr> arguments, WorkingFunction function, bool plain)
      : name_(name), arguments_(std::move(arguments)), function_(function), plain_(plain) {}

  Value compute(Frame& frame) const override {
    constexpr size_t few = 4;
    if (arguments_.size() <= few) {
      Value scratch[few];
      ValueView views[few];
      for (size_t i = 0; i < arguments_.size(); ++i) views[i] = arguments_[i]->view(frame, scratch[i]);
      return call(frame, {views, arguments_.size()});
    }
    frame.work(arguments_.size());
    frame.hold(arguments_.size() * (sizeof(Value) + sizeof(ValueView)));
    std::vector<Value> scratch(arguments_.size());
    std::vector<ValueView> views(arguments_.size());
    for (size_t i = 0; i < arguments_.size(); ++i) views[i] = arguments_[i]->view(frame, scratch[i]);
    return call(frame, views);
  }

 private:
  // The work of most functions grows with the bytes of their arguments.
  Value call(Frame& frame, Arguments arguments) const {
    size_t bytes = 0;
    for (const ValueView& argument : arguments) bytes += argument.bytes().size();
    frame.work_on(bytes);
    if (bytes >= large_bytes && plain_) [[unlikely]]
      frame.hold(bytes);
    return function_(frame, name_, arguments);
  }

  static constexpr size_t large_bytes = 64 << 10;
  std::string name_;
  std::vector<ExpressionPtr> arguments_;
  WorkingFunction function_;
  const bool plain_;
};

}  // namespace

void check_arity(std::string_view name, size_t given, int least, int most) {
  const std::string op(name);
  if (least == most && given != static_cast<size_t>(least)) {
    fail(16020, "Expression " + op + " takes exactly " + std::to_string(least) + " arguments. " + std::to_string(given) +
                    " were passed in.");
  }
  if (given < static_cast<size_t>(least) || (most >= 0 && given > static_cast<size_t>(most))) {
    if (most < 0) {
      fail(28667, "Expression " + op + " takes at least " + std::to_string(least) + " arguments, but " + std::to_string(given) +
                      " were passed in.");
    }
    fail(28667, "Expression " + op + " takes at least " + std::to_string(least) + " arguments, and at most " +
                    std::to_string(most) + ", but " + std::to_string(given) + " were passed in.");
  }
}

ExpressionPtr make_function(std::string_view name, std::vector<ExpressionPtr> arguments, WorkingFunction function, bool plain) {
  return std::make_unique<Function>(name, std::move(arguments), function, plain);
}

void parse_parameters(std::string_view name, const ValueView& value, Scope& scope, std::span<Parameter> parameters,
                      int not_object_code, const ParameterError& unknown, const ParameterError& missing) {
  if (value.type() != Type::object) fail(not_object_code, std::string(name) + " only supports an object as its argument");
  for (const bson::Element& field : value.as_document()) {
    bool known = false;
    for (Parameter& parameter : parameters) {
      if (parameter.name != field.name) continue;
      parameter.expression = parse_expression(field, scope);
      known = true;
    }
    if (!known) fail(unknown.code, fmt::format(fmt::runtime(unknown.text), field.name));
  }
  for (const Parameter& parameter : parameters) {
    if (parameter.required && !parameter.expression) {
      fail(parameter.missing_code ? parameter.missing_code : missing.code,
           fmt::format(fmt::runtime(missing.text), parameter.name));
    }
  }
}

namespace {

constexpr size_t value_text_bytes_max = 4096;  // a message must stay readable

void append_value_text(std::string& out, const ValueView& value);

void append_fields_text(std::string& out, bson::DocumentView fields, bool with_names) {
  bool first = true;
  for (const bson::Element& field : fields) {
    if (out.size() > value_text_bytes_max) return;
    if (!std::exchange(first, false)) out += ", ";
    if (with_names) out.append(field.name).append(": ");
    append_value_text(out, field);
  }
}

void append_value_text(std::string& out, const ValueView& value) {
  switch (value.type()) {
    case Type::eod: out += "MISSING"; break;
    case Type::string: out += fmt::format("\"{}\"", value.as_string()); break;
    case Type::symbol: out += fmt::format("Symbol(\"{}\")", value.as_string()); break;
    case Type::boolean: out += value.as_bool() ? "true" : "false"; break;
    case Type::number_double: out += fmt::format("{:g}", value.as_double()); break;
    case Type::int32:
    case Type::int64:
    case Type::decimal128: out += number_text(value); break;
    case Type::object_id: out += value.as_object_id().to_hex(); break;
    case Type::regex: out += fmt::format("/{}/{}", value.as_regex().pattern, value.as_regex().options); break;
    case Type::date: {
      constexpr int64_t last_written = 253'402'300'799'999;  // the end of the year 9999
      const int64_t ms = value.as_date().ms;
      out += ms >= 0 && ms <= last_written ? iso_date({ms}) : std::to_string(ms);
      break;
    }
    case Type::timestamp:
      out += fmt::format("Timestamp({}, {})", value.as_timestamp().seconds, value.as_timestamp().increment);
      break;
    case Type::binary:
      out += fmt::format("BinData({}, \"{}\")", value.as_binary().subtype, base::to_hex(value.as_binary().bytes));
      break;
    case Type::min_key: out += "MinKey"; break;
    case Type::max_key: out += "MaxKey"; break;
    case Type::array:
      out += '[';
      append_fields_text(out, value.as_document(), false);
      out += ']';
      break;
    case Type::object:
      out += '{';
      append_fields_text(out, value.as_document(), true);
      out += '}';
      break;
    default: out += named(value);
  }
}

}  // namespace

std::string value_text(const ValueView& value) {
  std::string text;
  append_value_text(text, value);
  if (text.size() <= value_text_bytes_max) return text;
  return std::string(front_of(text, value_text_bytes_max)) + "...";
}

std::optional<int64_t> whole_number(const ValueView& value) {
  if (!value.is_number()) return std::nullopt;
  const double number = value.to_double();
  if (std::trunc(number) != number || std::fabs(number) > 2147483648.0) return std::nullopt;
  return static_cast<int64_t>(number);
}

int64_t search_limit(std::string_view op, const char* which, const ValueView& value) {
  const std::string name(op);
  const auto whole = whole_number(value);
  if (!whole) {
    // MongoDB has no space behind the operator here.
    fail(40096, name + "requires an integral " + which + ", found a value of type: " + named(value) +
                    ", with value: " + value_text(value));
  }
  if (*whole < 0) fail(40097, name + " requires a nonnegative " + which + ", found: " + value_text(value));
  return *whole;
}

}  // namespace server::query
