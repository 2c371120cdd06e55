#include "server/query/match/comparison.h"

#include <algorithm>
#include <cmath>

#include "bson/compare.h"
#include "bson/decimal.h"
#include "server/query/match/parser.h"

namespace server::query::match {

namespace {

using bson::Type;
using bson::ValueView;

bool is_nan(const ValueView& value) {
  if (value.type() == Type::number_double) return std::isnan(value.as_double());
  return value.type() == Type::decimal128 && bson::decimal_is_nan(value.as_decimal128());
}

// Values of different brackets don't compare, except null with missing values, and MinKey and MaxKey, which lie beyond every
// value.
bool matches_across(Kind kind, const ValueView& value, const ValueView& operand) {
  if (value.is_nullish() && operand.is_nullish()) return kind == Kind::eq || kind == Kind::lte || kind == Kind::gte;
  const bool below = kind == Kind::lt || kind == Kind::lte;
  const bool above = kind == Kind::gt || kind == Kind::gte;
  return (operand.type() == Type::max_key && below) || (operand.type() == Type::min_key && above);
}

const char* operator_name(Kind kind) {
  switch (kind) {
    case Kind::eq: return "$eq";
    case Kind::lt: return "$lt";
    case Kind::lte: return "$lte";
    case Kind::gt: return "$gt";
    default: return "$gte";
  }
}

}  // namespace

bool Comparison::matches_value(const ValueView& value) const {
  if (value.type() != value_.type() && bson::canonical_rank(value.type()) != bson::canonical_rank(value_.type())) {
    return matches_across(kind(), value, value_);
  }
  if (value.is_number() && (is_nan(value) || is_nan(value_))) {
    // NaN equals itself and is neither above nor below anything.
    return kind() != Kind::lt && kind() != Kind::gt && is_nan(value) && is_nan(value_);
  }
  const int order = bson::compare(value, value_, collator_);
  switch (kind()) {
    case Kind::eq: return order == 0;
    case Kind::lt: return order < 0;
    case Kind::lte: return order <= 0;
    case Kind::gt: return order > 0;
    default: return order >= 0;
  }
}

// Most fields are single values that the whole path names.
bool Comparison::matches_field(const bson::Element& field) const {
  if (field.is_array() || !path_.is_single()) return PathNode::matches_field(field);
  work();
  return Comparison::matches_value(field);
}

void Comparison::append_operator(bson::Builder& out) const {
  out.append(operator_name(kind()), value_);
}

In::In(std::string_view path, std::vector<ValueView> values, std::vector<NodePtr> regexes, const bson::Collator* collator,
       Allowance* allowance)
    : PathNode(Kind::in, path, LeafArray::expand), values_(std::move(values)), regexes_(std::move(regexes)), collator_(collator) {
  std::stable_sort(values_.begin(), values_.end(), [&](const ValueView& a, const ValueView& b) {
    if (allowance) allowance->work_on(std::min(a.bytes().size(), b.bytes().size()));
    return bson::compare(a, b, collator_) < 0;
  });
  values_.erase(std::unique(values_.begin(), values_.end(), bson::ValueEqual{collator_}), values_.end());
  has_null_ = std::any_of(values_.begin(), values_.end(), [](const ValueView& value) { return value.is_nullish(); });
}

void In::account_to(Allowance* allowance) {
  PathNode::account_to(allowance);
  for (const NodePtr& regex : regexes_) regex->account_to(allowance);
}

bool In::matches_value(const ValueView& value) const {
  if (value.is_nullish()) return has_null_;
  if (std::binary_search(values_.begin(), values_.end(), value, bson::ValueLess{collator_})) return true;
  return std::any_of(regexes_.begin(), regexes_.end(), [&](const NodePtr& regex) {
    work();
    return regex->matches_value(value);
  });
}

void In::append_operator(bson::Builder& out) const {
  auto array = out.array("$in");
  for (const ValueView& value : values_) array.append(value);
  for (const NodePtr& regex : regexes_) array.append(static_cast<const RegexNode&>(*regex).regex());
}

NodePtr make_equality(std::string_view path, const ValueView& value, const Parsing& parsing) {
  if (value.type() == Type::undefined) bad_value("cannot compare to undefined");
  return std::make_unique<Comparison>(Kind::eq, path, value, parsing.context.collator.get());
}

namespace {

template <Kind kind>
NodePtr parse_comparison(std::string_view path, const bson::Element& operand, bson::DocumentView, Parsing& parsing) {
  if (operand.type() == Type::undefined) bad_value("cannot compare to undefined");
  if (kind != Kind::eq && operand.type() == Type::regex) {
    bad_value("Can't have RegEx as arg to predicate over field '" + std::string(path) + "'.");
  }
  return std::make_unique<Comparison>(kind, path, operand, parsing.context.collator.get());
}

NodePtr parse_ne(std::string_view path, const bson::Element& operand, bson::DocumentView, Parsing& parsing) {
  if (operand.type() == Type::regex) bad_value("Can't have regex as arg to $ne.");
  return std::make_unique<NotNode>(make_equality(path, operand, parsing));
}

NodePtr make_in(std::string_view path, const bson::Element& operand, const Parsing& parsing) {
  if (!operand.is_array()) bad_value(std::string(operand.name) + " needs an array");
  std::vector<ValueView> values;
  std::vector<NodePtr> regexes;
  for (const bson::Element& element : operand.as_document()) {
    if (is_operator_object(element)) bad_value("cannot nest $ under $in");
    if (element.type() == Type::undefined) bad_value("InMatchExpression equality cannot be undefined");
    if (element.type() == Type::regex) {
      regexes.push_back(make_regex(path, element, parsing));
    } else {
      values.push_back(element);
    }
  }
  return std::make_unique<In>(path, std::move(values), std::move(regexes), parsing.context.collator.get(),
                              parsing.context.allowance);
}

NodePtr parse_in(std::string_view path, const bson::Element& operand, bson::DocumentView, Parsing& parsing) {
  return make_in(path, operand, parsing);
}

NodePtr parse_nin(std::string_view path, const bson::Element& operand, bson::DocumentView, Parsing& parsing) {
  return std::make_unique<NotNode>(make_in(path, operand, parsing));
}

constexpr PathOperatorRow path_operators[] = {
    {"$eq", parse_comparison<Kind::eq>},
    {"$ne", parse_ne},
    {"$gt", parse_comparison<Kind::gt>},
    {"$gte", parse_comparison<Kind::gte>},
    {"$lt", parse_comparison<Kind::lt>},
    {"$lte", parse_comparison<Kind::lte>},
    {"$in", parse_in},
    {"$nin", parse_nin},
};

}  // namespace

Family comparison_family() {
  return {path_operators, {}};
}

}  // namespace server::query::match
