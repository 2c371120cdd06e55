#include "server/query/expressions/percentile.h"

#include "server/core/text.h"
#include "server/query/expressions/accumulating.h"
#include "server/query/expressions/operator_support.h"

namespace server::query {
namespace {

constexpr int type_mismatch = static_cast<int>(base::ErrorCode::type_mismatch);
constexpr int bad_value = static_cast<int>(base::ErrorCode::bad_value);

std::vector<double> percentages(const ValueView& given, Scope& scope) {
  const std::string must = "The $percentile 'p' field must be an array of ";
  const ExpressionPtr expression = parse_expression(given, scope);
  const Value* constant = expression->constant();
  if (constant == nullptr || constant->type() != Type::array || constant->view().as_document().empty()) {
    fail(7750300,
         must + "constant values, but found value: " + (constant != nullptr ? value_text(*constant) : "an expression") + ".");
  }
  std::vector<double> all;
  for (const bson::Element& one : constant->view().as_document()) {
    if (!one.is_number()) fail(7750302, must + "numbers from [0.0, 1.0], but found: " + value_text(one));
    if (!(one.to_double() >= 0 && one.to_double() <= 1))
      fail(7750303, must + "numbers from [0.0, 1.0], but found: " + value_text(one));
    all.push_back(one.to_double());
  }
  return all;
}

}  // namespace

PercentileCall parse_percentile(std::string_view name, const ValueView& value, Scope& scope) {
  const bool median = name == "$median";
  if (!value.is_object())
    fail(median ? 7436100 : 7429703, "specification must be an object; found " + std::string(name) + " :" + named(value));
  PercentileCall call;
  ValueView method, p;
  for (const bson::Element& argument : value.as_document()) {
    if (argument.name == "input")
      call.input = parse_expression(argument, scope);
    else if (argument.name == "method")
      method = argument;
    else if (argument.name == "p" && !median)
      p = argument;
    else
      fail(40415, "BSON field '" + std::string(name) + "." + std::string(argument.name) + "' is an unknown field.");
  }
  const auto require = [&](bool there, const char* field) {
    if (!there) fail(40414, "BSON field '" + std::string(name) + "." + field + "' is missing but a required field");
  };
  require(call.input != nullptr, "input");
  require(method.exists(), "method");
  if (!median) require(p.exists(), "p");
  if (!method.is_string()) {
    fail(type_mismatch,
         "BSON field '" + std::string(name) + ".method' is the wrong type '" + named(method) + "', expected type 'string'");
  }
  if (method.as_string() != "approximate") fail(bad_value, "Currently only 'approximate' can be used as percentile 'method'.");
  if (!median) call.settings.percentiles = percentages(p, scope);
  return call;
}

namespace {

// It works on an array's numbers, or on one number.
ExpressionPtr parse(std::string_view name, const ValueView& value, Scope& scope) {
  if (!value.is_object()) {
    fail(name == "$median" ? 7436201 : 7436200,
         "specification must be an object; found " + show_element(bson::Element(name, value)));
  }
  PercentileCall call = parse_percentile(name, value, scope);
  return evaluated([op = std::string(name), input = std::move(call.input), settings = std::move(call.settings)](Frame& frame) {
    AccumulatorSettings accounted = settings;
    accounted.allowance = frame.allowance();
    const auto accumulator = make_accumulator(op, accounted);
    const Value given = input->evaluate(frame);
    const size_t held = frame.held();
    if (given.type() == Type::array) {
      for (const bson::Element& element : given.view().as_document()) add_to(*accumulator, element, frame, held);
    } else {
      add_to(*accumulator, given, frame, held);
    }
    return result_of(frame, *accumulator);
  });
}

constexpr OperatorEntry entries[] = {{"$percentile", parse}, {"$median", parse}};

}  // namespace

std::span<const OperatorEntry> percentile_operators() {
  return entries;
}

}  // namespace server::query
