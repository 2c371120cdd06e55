#include "bson/builder.h"
#include "server/query/expressions/operator_support.h"
#include "server/query/let_variables.h"

namespace server::query {
namespace {

ExpressionPtr parse_let(std::string_view, const ValueView& value, Scope& scope) {
  if (value.type() != Type::object) fail(16874, "$let only supports an object as its argument");
  bson::Element vars, in;
  for (const bson::Element& field : value.as_document()) {
    if (field.name == "vars") {
      vars = field;
    } else if (field.name == "in") {
      in = field;
    } else {
      fail(16875, "Unrecognized parameter to $let: " + std::string(field.name));
    }
  }
  if (!vars.exists()) fail(16876, "Missing 'vars' parameter to $let");
  if (!in.exists()) fail(16877, "Missing 'in' parameter to $let");
  if (!vars.is_object()) fail(10065, "invalid parameter: expected an object (vars)");

  std::vector<std::pair<std::string, ExpressionPtr>> values;
  for (const bson::Element& variable : vars.as_document()) {
    check_variable_name(variable.name);
    values.emplace_back(variable.name, parse_expression(variable, scope));  // it sees only the outer scope
  }
  std::vector<std::pair<int, ExpressionPtr>> bound;
  for (auto& [name, expression] : values) bound.emplace_back(scope.enter(name), std::move(expression));
  ExpressionPtr body = parse_expression(in, scope);
  scope.leave(bound.size());
  return evaluated([bound = std::move(bound), body = std::move(body)](Frame& frame) {
    frame.work(bound.size());
    for (const auto& [slot, expression] : bound) frame.slots[slot] = expression->evaluate(frame);
    Value value = body->evaluate(frame);
    for (const auto& [slot, expression] : bound) frame.slots[slot] = Value();
    return value;
  });
}

// $map, $filter and $reduce are parsed alike, and differ in what they do per element.
struct Iteration {
  ExpressionPtr input;
  bson::Element body;
  std::string as = "this";
};

ExpressionPtr parse_map(std::string_view, const ValueView& value, Scope& scope) {
  if (value.type() != Type::object) fail(16878, "$map only supports an object as its argument");
  Iteration it;
  for (const bson::Element& field : value.as_document()) {
    if (field.name == "input") {
      it.input = parse_expression(field, scope);
    } else if (field.name == "as") {
      it.as = field.is_string() ? std::string(field.as_string()) : "";
    } else if (field.name == "in") {
      it.body = field;
    } else {
      fail(16879, "Unrecognized parameter to $map: " + std::string(field.name));
    }
  }
  if (!it.input) fail(16880, "Missing 'input' parameter to $map");
  if (!it.body.exists()) fail(16882, "Missing 'in' parameter to $map");
  check_variable_name(it.as);
  const int slot = scope.enter(it.as);
  ExpressionPtr body = parse_expression(it.body, scope);
  scope.leave();
  return evaluated([input = std::move(it.input), slot, body = std::move(body)](Frame& frame) {
    const Value array = input->evaluate(frame);
    if (array.view().is_nullish()) return Value::null();
    if (array.type() != Type::array) fail(16883, "input to $map must be an array not " + named(array));
    const size_t held = frame.held();
    bson::ArrayBuilder out;
    for (const bson::Element& element : array.view().as_document()) {
      frame.work_on(element.bytes().size());
      frame.keep(held, out.size() + element.bytes().size());
      frame.slots[slot] = Value(element);
      Value scratch;
      const ValueView mapped = body->view(frame, scratch);
      if (mapped.exists()) {
        out.append(mapped);
      } else {
        out.append_null();
      }
    }
    frame.slots[slot] = Value();
    return out.done_value();
  });
}

ExpressionPtr parse_filter(std::string_view, const ValueView& value, Scope& scope) {
  if (value.type() != Type::object) fail(28646, "$filter only supports an object as its argument");
  Iteration it;
  ExpressionPtr limit;
  for (const bson::Element& field : value.as_document()) {
    if (field.name == "input") {
      it.input = parse_expression(field, scope);
    } else if (field.name == "as") {
      it.as = field.is_string() ? std::string(field.as_string()) : "";
    } else if (field.name == "cond") {
      it.body = field;
    } else if (field.name == "limit") {
      limit = parse_expression(field, scope);
    } else {
      fail(28647, "Unrecognized parameter to $filter: " + std::string(field.name));
    }
  }
  if (!it.input) fail(28648, "Missing 'input' parameter to $filter");
  if (!it.body.exists()) fail(28650, "Missing 'cond' parameter to $filter");
  check_variable_name(it.as);
  const int slot = scope.enter(it.as);
  ExpressionPtr cond = parse_expression(it.body, scope);
  scope.leave();
  return evaluated([input = std::move(it.input), slot, cond = std::move(cond), limit = std::move(limit)](Frame& frame) {
    const Value array = input->evaluate(frame);
    if (array.view().is_nullish()) return Value::null();
    if (array.type() != Type::array) fail(28651, "input to $filter must be an array not " + named(array));
    int64_t left = INT64_MAX;
    if (limit) {
      const Value most = limit->evaluate(frame);
      if (!most.view().is_nullish()) {
        const auto whole = whole_number(most);
        if (!whole) fail(327391, "$filter: limit must be represented as a 32-bit integral value: " + value_text(most));
        if (*whole <= 0) fail(327392, "$filter: limit must be greater than 0: " + std::to_string(*whole));
        left = *whole;
      }
    }
    const size_t held = frame.held();
    bson::ArrayBuilder out;
    for (const bson::Element& element : array.view().as_document()) {
      if (left == 0) break;
      frame.work_on(element.bytes().size());
      frame.keep(held, out.size() + element.bytes().size());
      frame.slots[slot] = Value(element);
      Value scratch;
      if (!cond->view(frame, scratch).truthy()) continue;
      out.append(static_cast<const ValueView&>(element));
      --left;
    }
    frame.slots[slot] = Value();
    return out.done_value();
  });
}

ExpressionPtr parse_reduce(std::string_view, const ValueView& value, Scope& scope) {
  if (value.type() != Type::object) fail(40075, "$reduce requires an object as an argument, found: " + named(value));
  ExpressionPtr input, initial;
  bson::Element in;
  for (const bson::Element& field : value.as_document()) {
    if (field.name == "input") {
      input = parse_expression(field, scope);
    } else if (field.name == "initialValue") {
      initial = parse_expression(field, scope);
    } else if (field.name == "in") {
      in = field;
    } else {
      fail(40076, "$reduce found an unknown argument: " + std::string(field.name));
    }
  }
  if (!input) fail(40077, "$reduce requires 'input' to be specified");
  if (!initial) fail(40078, "$reduce requires 'initialValue' to be specified");
  if (!in.exists()) fail(40079, "$reduce requires 'in' to be specified");
  const int this_slot = scope.enter("this");
  const int value_slot = scope.enter("value");
  ExpressionPtr body = parse_expression(in, scope);
  scope.leave(2);
  return evaluated(
      [input = std::move(input), initial = std::move(initial), body = std::move(body), this_slot, value_slot](Frame& frame) {
        const Value array = input->evaluate(frame);
        if (array.view().is_nullish()) return Value::null();
        if (array.type() != Type::array) fail(40080, "$reduce requires that 'input' be an array, found: " + named(array));
        const size_t held = frame.held();
        Value so_far = initial->evaluate(frame);
        for (const bson::Element& element : array.view().as_document()) {
          frame.work_on(element.bytes().size());
          frame.keep(held, so_far.view().bytes().size() + element.bytes().size());
          frame.slots[this_slot] = Value(element);
          frame.slots[value_slot] = std::move(so_far);
          so_far = body->evaluate(frame);
        }
        frame.slots[this_slot] = frame.slots[value_slot] = Value();
        return so_far;
      });
}

ExpressionPtr parse_literal(std::string_view, const ValueView& value, Scope&) {
  return make_constant(Value(value));
}

constexpr OperatorEntry entries[] = {
    {"$let", parse_let},       {"$map", parse_map},         {"$filter", parse_filter},
    {"$reduce", parse_reduce}, {"$literal", parse_literal}, {"$const", parse_literal},
};

}  // namespace

std::span<const OperatorEntry> variable_operators() {
  return entries;
}

}  // namespace server::query
