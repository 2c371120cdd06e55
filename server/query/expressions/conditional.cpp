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
    const size_t held = frame.held();
    for (size_t i = 0; i + 1 < arguments.size(); ++i) {
      frame.work();
      frame.keep(held, 0);
      Value candidate = arguments[i]->evaluate(frame);
      if (!candidate.view().is_nullish()) return candidate;
    }
    return arguments.back()->evaluate(frame);
  });
}

using Failure = std::optional<base::OperationError>;  // Scope::failure

struct Branch {
  ExpressionPtr test;
  ExpressionPtr then;
  std::optional<bool> decided = std::nullopt;  // what the test gives, if it reads nothing
  Failure test_failure = std::nullopt, then_failure = std::nullopt;
};

void parse_test(Branch& branch, const ValueView& value, Scope& scope) {
  const size_t reads = scope.reads();
  branch.test = parse_expression(value, scope);
  branch.test_failure = scope.take_failure();
  if (scope.reads() != reads || branch.test_failure) return;
  Frame none(scope);
  Value scratch;
  branch.decided = branch.test->view(none, scratch).truthy();
}

Branch parse_branch(const ValueView& value, Scope& scope) {
  if (value.type() != Type::object) fail(40062, "$switch expected each branch to be an object, found: " + named(value));
  Branch branch;
  for (const bson::Element& field : value.as_document()) {
    if (field.name == "case") {
      parse_test(branch, field, scope);
    } else if (field.name == "then") {
      branch.then = parse_expression(field, scope);
      branch.then_failure = scope.take_failure();
    } else {
      fail(40063, "$switch found an unknown argument to a branch: " + std::string(field.name));
    }
  }
  if (!branch.test) fail(40064, "$switch requires each branch have a 'case' expression");
  if (!branch.then) fail(40065, "$switch requires each branch have a 'then' expression.");
  return branch;
}

// Notes the failures of those parts that may be evaluated: a branch whose test is false isn't, and nothing behind one whose test
// is true.
void note_failures(const std::vector<Branch>& branches, bool has_default, const Failure& of_default, Scope& scope) {
  const auto note = [&](const Failure& failure) {
    if (failure) scope.note_failure(*failure);
  };
  note(of_default);
  bool all_false = true;
  for (const Branch& branch : branches) {
    note(branch.test_failure);
    if (branch.decided == false) continue;
    all_false = false;
    note(branch.then_failure);
    if (branch.decided == true) break;
  }
  if (all_false && !has_default)
    scope.note_failure({static_cast<base::ErrorCode>(40069),
                        "Cannot execute a switch statement where all the cases evaluate to false without a default"});
}

ExpressionPtr parse_switch(std::string_view, const ValueView& value, Scope& scope) {
  if (value.type() != Type::object) fail(40060, "$switch requires an object as an argument, found: " + named(value));
  std::vector<Branch> branches;
  ExpressionPtr otherwise;
  const Failure before = scope.take_failure();
  Failure of_default;
  for (const bson::Element& field : value.as_document()) {
    if (field.name == "branches") {
      if (!field.is_array()) fail(40061, "$switch expected an array for 'branches', found: " + named(field));
      for (const bson::Element& branch : field.as_document()) branches.push_back(parse_branch(branch, scope));
    } else if (field.name == "default") {
      otherwise = parse_expression(field, scope);
      of_default = scope.take_failure();
    } else {
      fail(40067, "$switch found an unknown argument: " + std::string(field.name));
    }
  }
  if (branches.empty()) fail(40068, "$switch requires at least one branch.");
  if (before) scope.note_failure(*before);
  note_failures(branches, otherwise != nullptr, of_default, scope);
  return evaluated([branches = std::move(branches), otherwise = std::move(otherwise)](Frame& frame) {
    const size_t held = frame.held();
    for (const Branch& branch : branches) {
      frame.work();
      frame.keep(held, 0);
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
