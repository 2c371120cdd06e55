#include "server/query/expressions/operator_support.h"

namespace server::query {
namespace {

ExpressionPtr parse_cond(std::string_view name, const ValueView& value, Scope& scope) {
  ExpressionPtr test, then, otherwise;
  if (value.type() == Type::object) {
    for (const bson::Element& field : value.as_document()) {
      if (field.name == "if") {
        test = parse_expression(field, scope);
      } else if (field.name == "then") {
        then = parse_expression(field, scope);
      } else if (field.name == "else") {
        otherwise = parse_expression(field, scope);
      } else {
        fail(17083, "Unrecognized parameter to $cond: " + std::string(field.name));
      }
    }
    if (!test) fail(17080, "Missing 'if' parameter to $cond");
    if (!then) fail(17081, "Missing 'then' parameter to $cond");
    if (!otherwise) fail(17082, "Missing 'else' parameter to $cond");
  } else {
    auto arguments = parse_arguments(value, scope);
    check_arity(name, arguments.size(), 3, 3);
    test = std::move(arguments[0]);
    then = std::move(arguments[1]);
    otherwise = std::move(arguments[2]);
  }
  return evaluated([test = std::move(test), then = std::move(then), otherwise = std::move(otherwise)](Frame& frame) {
    Value scratch;
    return test->view(frame, scratch).truthy() ? then->evaluate(frame) : otherwise->evaluate(frame);
  });
}

ExpressionPtr parse_if_null(std::string_view, const ValueView& value, Scope& scope) {
  auto arguments = parse_arguments(value, scope);
  if (arguments.size() < 2) fail(1257300, "$ifNull needs at least two arguments, had: " + std::to_string(arguments.size()));
  return evaluated([arguments = std::move(arguments)](Frame& frame) {
    for (size_t i = 0; i + 1 < arguments.size(); ++i) {
      Value candidate = arguments[i]->evaluate(frame);
      if (!candidate.view().is_nullish()) return candidate;
    }
    return arguments.back()->evaluate(frame);
  });
}

struct Branch {
  ExpressionPtr test;
  ExpressionPtr then;
};

Branch parse_branch(const ValueView& value, Scope& scope) {
  if (value.type() != Type::object) fail(40062, "$switch requires each branch to be an object, found: " + named(value));
  Branch branch;
  for (const bson::Element& field : value.as_document()) {
    if (field.name == "case") {
      branch.test = parse_expression(field, scope);
    } else if (field.name == "then") {
      branch.then = parse_expression(field, scope);
    } else {
      fail(40063, "$switch found an unknown argument to a branch: " + std::string(field.name));
    }
  }
  if (!branch.test) fail(40064, "$switch requires each branch have a 'case' expression");
  if (!branch.then) fail(40065, "$switch requires each branch have a 'then' expression.");
  return branch;
}

ExpressionPtr parse_switch(std::string_view, const ValueView& value, Scope& scope) {
  if (value.type() != Type::object) fail(40060, "$switch requires an object as an argument, found: " + named(value));
  std::vector<Branch> branches;
  ExpressionPtr otherwise;
  for (const bson::Element& field : value.as_document()) {
    if (field.name == "branches") {
      if (!field.is_array()) fail(40061, "$switch expected an array for 'branches', found: " + named(field));
      for (const bson::Element& branch : field.as_document()) branches.push_back(parse_branch(branch, scope));
    } else if (field.name == "default") {
      otherwise = parse_expression(field, scope);
    } else {
      fail(40067, "$switch found an unknown argument: " + std::string(field.name));
    }
  }
  if (branches.empty()) fail(40068, "$switch requires at least one branch.");
  return evaluated([branches = std::move(branches), otherwise = std::move(otherwise)](Frame& frame) {
    for (const Branch& branch : branches) {
      Value scratch;
      if (branch.test->view(frame, scratch).truthy()) return branch.then->evaluate(frame);
    }
    if (!otherwise) fail(40066, "$switch could not find a matching branch for an input, and no default was specified.");
    return otherwise->evaluate(frame);
  });
}

constexpr OperatorEntry entries[] = {{"$cond", parse_cond}, {"$ifNull", parse_if_null}, {"$switch", parse_switch}};

}  // namespace

std::span<const OperatorEntry> conditional_operators() {
  return entries;
}

}  // namespace server::query
