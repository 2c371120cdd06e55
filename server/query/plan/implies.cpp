#include "server/query/plan/implies.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "bson/compare.h"
#include "server/core/allowance.h"
#include "server/core/text.h"
#include "server/query/match/comparison.h"
#include "server/query/match/element.h"
#include "server/query/plan/bounds.h"

namespace server::query::plan {

namespace {

using base::ErrorCode;
using base::OperationError;
using bson::ValueView;
using match::Kind;
using match::Node;

const std::vector<match::NodePtr>& children_of(const Node& node) {
  return static_cast<const match::TreeNode&>(node).children();
}

bool is_comparison(Kind kind) {
  return kind == Kind::eq || kind == Kind::lt || kind == Kind::lte || kind == Kind::gt || kind == Kind::gte;
}

void check_supported(const Node& node) {
  switch (node.kind()) {
    case Kind::conjunction:
    case Kind::disjunction:
      for (const auto& child : children_of(node)) check_supported(*child);
      return;
    case Kind::eq:
    case Kind::lt:
    case Kind::lte:
    case Kind::gt:
    case Kind::gte:
    case Kind::exists:
    case Kind::geo:
    case Kind::type: return;
    case Kind::in:
      if (static_cast<const match::In&>(node).regexes().empty()) return;
      break;
    default: break;
  }
  bson::Builder text;
  node.append(text);
  throw OperationError(ErrorCode::cannot_create_index, "Expression not supported in partial index: " + show(text.done().view()));
}

bool same_text(const Node& a, const Node& b, Allowance& allowance) {
  bson::Builder left, right;
  a.append(left);
  b.append(right);
  const bson::Document shown = left.done(), other = right.done();
  allowance.work_on(shown.bytes().size() + other.bytes().size());
  return shown.bytes() == other.bytes();
}

bool is_nan(const ValueView& value) {
  return value.is_number() && std::isnan(value.to_double());
}

// Returns whether every value in the range of `fact` is in the range of `goal`.
bool range_within(const match::Comparison& fact, const match::Comparison& goal) {
  const ValueView &known = fact.value(), &limit = goal.value();
  if (bson::canonical_rank(known.type()) != bson::canonical_rank(limit.type()) || is_nan(known) || is_nan(limit)) return false;
  const int order = bson::compare(known, limit, goal.collator());
  const bool goal_below = goal.kind() == Kind::lt || goal.kind() == Kind::lte;
  const bool fact_below = fact.kind() == Kind::lt || fact.kind() == Kind::lte;
  if (goal.kind() == Kind::eq || fact.kind() == Kind::eq || goal_below != fact_below) return false;
  if (order == 0) return fact.kind() == goal.kind() || goal.kind() == Kind::lte || goal.kind() == Kind::gte;
  return goal_below ? order < 0 : order > 0;
}

// Returns whether all values that may equal `value` have one of the types.
bool has_type(const ValueView& value, const match::TypeSet& types) {
  for (const bson::Type type : {bson::Type::int32, bson::Type::int64, bson::Type::number_double, bson::Type::decimal128,
                                bson::Type::string, bson::Type::symbol, value.type()}) {
    const bool alike = bson::canonical_rank(type) == bson::canonical_rank(value.type());
    if (alike && !types[static_cast<uint8_t>(type)]) return false;
  }
  return true;
}

// {a: v} means that `a` is v, or a number or text that equals it, or contains such a one; either way it fulfils a predicate that
// v fulfils.
bool value_fulfils(const ValueView& value, const Node& goal) {
  if (goal.kind() == Kind::type && !value.is_nullish() && !has_type(value, static_cast<const match::TypeIs&>(goal).types()))
    return false;
  return !value.is_array() && goal.matches_value(value.is_nullish() ? ValueView() : value);
}

const bson::Collator* collator_of(const Node& node) {
  if (is_comparison(node.kind())) return static_cast<const match::Comparison&>(node).collator();
  return node.kind() == Kind::in ? static_cast<const match::In&>(node).collator() : nullptr;
}

bool has_strings(const Node& node) {
  if (is_comparison(node.kind())) return bson::is_collatable(static_cast<const match::Comparison&>(node).value().type());
  if (node.kind() != Kind::in) return false;
  const auto& values = static_cast<const match::In&>(node).values();
  return std::any_of(values.begin(), values.end(), [](const ValueView& value) { return bson::is_collatable(value.type()); });
}

// Returns whether both are about values, and would take different strings for equal.
bool differ_in_collation(const Node& fact, const Node& goal) {
  const bool compares = is_comparison(goal.kind()) || goal.kind() == Kind::in;
  return compares && has_strings(fact) && !bson::same_collation(collator_of(fact), collator_of(goal));
}

bool leaf_implies(const match::PathNode& fact, const match::PathNode& goal, Allowance& allowance) {
  // A comparison of an expression says nothing about documents with arrays.
  if (fact.kind() == Kind::expr_comparison || fact.path() != goal.path() || differ_in_collation(fact, goal)) return false;
  if (same_text(fact, goal, allowance)) return true;
  if (goal.kind() == Kind::exists) return !matches_missing(fact, goal.path(), allowance);
  if (fact.kind() == Kind::eq) return value_fulfils(static_cast<const match::Comparison&>(fact).value(), goal);
  if (fact.kind() == Kind::in) {
    const auto& in = static_cast<const match::In&>(fact);
    allowance.work(in.values().size());
    return in.regexes().empty() && std::all_of(in.values().begin(), in.values().end(),
                                               [&](const ValueView& value) { return value_fulfils(value, goal); });
  }
  if (fact.kind() == Kind::type && goal.kind() == Kind::type) {
    const auto& known = static_cast<const match::TypeIs&>(fact).types();
    return (known & ~static_cast<const match::TypeIs&>(goal).types()).none();
  }
  if (is_comparison(fact.kind()) && is_comparison(goal.kind())) {
    return range_within(static_cast<const match::Comparison&>(fact), static_cast<const match::Comparison&>(goal));
  }
  return false;
}

bool fact_implies(const Node& fact, const Node& goal, Allowance& allowance) {
  allowance.work();
  if (fact.kind() == Kind::disjunction) {
    return std::all_of(children_of(fact).begin(), children_of(fact).end(),
                       [&](const auto& child) { return fact_implies(*child, goal, allowance); });
  }
  if (fact.kind() == Kind::conjunction) return implies(flatten(fact), goal, allowance);
  const auto* known = dynamic_cast<const match::PathNode*>(&fact);
  const auto* wanted = dynamic_cast<const match::PathNode*>(&goal);
  return known && wanted && leaf_implies(*known, *wanted, allowance);
}

}  // namespace

bool implies(const Predicates& facts, const Node& goal, Allowance& allowance) {
  const auto one = [&](const auto& child) { return implies(facts, *child, allowance); };
  if (goal.kind() == Kind::conjunction) return std::all_of(children_of(goal).begin(), children_of(goal).end(), one);
  if (goal.kind() == Kind::disjunction && std::any_of(children_of(goal).begin(), children_of(goal).end(), one)) return true;
  return std::any_of(facts.begin(), facts.end(), [&](const Node* fact) {
    if (goal.kind() == Kind::disjunction && fact->kind() == Kind::disjunction) {
      return std::all_of(children_of(*fact).begin(), children_of(*fact).end(),
                         [&](const auto& branch) { return implies(flatten(*branch), goal, allowance); });
    }
    return fact_implies(*fact, goal, allowance);
  });
}

bool implies_partial(const Predicates& facts, const storage::Index& index, Allowance& allowance) {
  const auto* predicate = dynamic_cast<const PartialPredicate*>(index.partial_predicate());
  return predicate && implies(facts, predicate->root(), allowance);
}

std::shared_ptr<const storage::DocumentPredicate> compile_partial_filter(bson::DocumentView filter,
                                                                         const bson::CollatorPtr& collator) {
  ParseContext context;
  context.collator = collator;
  auto matcher = Matcher::parse(filter, context);
  check_supported(matcher->root());
  return std::make_shared<PartialPredicate>(std::move(matcher));
}

}  // namespace server::query::plan
