#include "server/query/plan/bounds.h"

#include <algorithm>
#include <cmath>

#include "bson/compare.h"
#include "bson/decimal.h"
#include "bson/hashed_key.h"
#include "server/core/allowance.h"
#include "server/query/match/array.h"
#include "server/query/match/comparison.h"
#include "server/query/match/element.h"
#include "server/query/match/expr_comparison.h"
#include "server/query/plan/locations.h"
#include "server/query/plan/plan_bytes.h"

namespace server::query::plan {

namespace {

using bson::Type;
using bson::Value;
using bson::ValueView;
using match::Kind;
using match::Node;

Intervals point(const ValueView& value) {
  return {Interval::point(value)};
}

// Missing fields have the key null, and empty arrays undefined.
Intervals null_points() {
  return unite(point(ValueView(Type::undefined, {})), point(ValueView(Type::null, {})));
}

Intervals numbers_and_nan() {
  return unite(point(Value(std::nan(""))), bracket(Type::number_double));
}

bool is_nan(const ValueView& value) {
  return value.type() == Type::decimal128 ? bson::decimal_is_nan(value.as_decimal128()) : std::isnan(value.to_double());
}

Bounds equality_bounds(const ValueView& value) {
  if (value.is_nullish()) return {null_points(), false};
  if (!value.is_array()) return {point(value), true};
  // The keys of an array are its elements; the whole array is a key only within another array.
  const bson::Element first = value.as_document().first();
  const ValueView key = first.exists() ? static_cast<ValueView>(first) : ValueView(Type::undefined, {});
  return {unite(point(key), point(value)), false};
}

Bounds order_bounds(const match::Node& node, const ValueView& value) {
  const bool included = node.kind() == Kind::lte || node.kind() == Kind::gte;
  if (value.is_nullish()) return {included ? null_points() : Intervals{}, false};
  if (value.is_number() && is_nan(value)) return {included ? point(value) : Intervals{}, true};
  if (value.type() == Type::min_key || value.type() == Type::max_key || value.is_array()) return {everything(), false};
  Intervals whole = bracket(value.type());
  if (whole.empty()) return {everything(), false};
  Interval interval = whole.front();
  if (node.kind() == Kind::lt || node.kind() == Kind::lte) {
    interval.high = Value(value);
    interval.high_included = included;
  } else {
    interval.low = Value(value);
    interval.low_included = included;
  }
  return {normalize({interval}), true};
}

// Returns the text that sorts right after every text that begins with `prefix`.
std::string after_prefix(std::string prefix) {
  ++prefix.back();  // never wraps: 0xff doesn't occur in UTF-8
  return prefix;
}

// A regex compares characters, whatever the collation is, and so sort keys say nothing about it.
Bounds regex_bounds(const match::RegexNode& node, const KeyForm& keys) {
  bool exact = false;
  const std::string prefix = keys.collator ? std::string() : node.prefix(exact);
  Intervals intervals = bracket(Type::string);
  if (!prefix.empty() && static_cast<uint8_t>(prefix.back()) < 0xff) {
    intervals = {{Value(prefix), Value(after_prefix(prefix)), true, false}};
  }
  bool ascii = !prefix.empty();
  for (char c : prefix) ascii = ascii && static_cast<uint8_t>(c) < 0x7f;
  bson::Builder holder;
  holder.append("", node.regex());
  const bson::Document document = holder.done();
  return {unite(std::move(intervals), point(document.view().first())), exact && ascii};
}

// Returns the value as the keys have it, perhaps in `scratch`; nullopt: the keys are of another collation.
std::optional<ValueView> in_keys(const ValueView& value, const bson::Collator* predicate, const KeyForm& keys, Value& scratch) {
  if (!bson::is_collatable(value.type()) || (!predicate && !keys.collator)) return value;
  if (!bson::same_collation(predicate, keys.collator)) return std::nullopt;
  scratch = bson::collated(value, *keys.collator);
  return scratch.view();
}

// Different values may have one hash, so what is found has still to be checked. No document in the index has an array.
std::optional<Bounds> hashed_bounds(const ValueView& value) {
  if (value.is_array()) return std::nullopt;
  const auto hash = [](const ValueView& one) { return point(Value(bson::hashed_key(one))); };
  if (!value.is_nullish()) return Bounds{hash(value), false};
  return Bounds{unite(hash(ValueView(Type::undefined, {})), hash(ValueView(Type::null, {}))), false};
}

std::optional<Bounds> comparison_bounds(const match::Comparison& node, const KeyForm& keys) {
  Value scratch;
  const auto value = in_keys(node.value(), node.collator(), keys, scratch);
  if (!value) return std::nullopt;
  if (keys.hashed) return node.kind() == Kind::eq ? hashed_bounds(*value) : std::nullopt;
  return node.kind() == Kind::eq ? equality_bounds(*value) : order_bounds(node, *value);
}

// Documents without the field have the key null, and come before it here.
Bounds expr_order_bounds(Kind comparison, const ValueView& value) {
  Interval interval = Interval::everything();
  if (comparison == Kind::lt || comparison == Kind::lte) {
    interval.high = Value(value);
    interval.high_included = comparison == Kind::lte || value.is_nullish();
  } else {
    interval.low = Value(value);
    interval.low_included = comparison == Kind::gte;
  }
  return {normalize({interval}), !value.is_nullish()};
}

// Nothing is known of documents with arrays, so there are bounds only where no document has one.
std::optional<Bounds> expr_bounds(const match::ExprComparison& node, bool multikey, const KeyForm& keys) {
  if (multikey || keys.geo || keys.leaves) return std::nullopt;
  Value scratch;
  const auto value = in_keys(node.value(), node.collator(), keys, scratch);
  if (!value) return std::nullopt;
  if (keys.hashed) return node.comparison() == Kind::eq ? hashed_bounds(*value) : std::nullopt;
  if (node.comparison() == Kind::eq) return Bounds{point(*value), !value->is_nullish()};
  return expr_order_bounds(node.comparison(), *value);
}

// AnyOf collects the bounds of alternatives.
class AnyOf {
 public:
  explicit AnyOf(Allowance& allowance) : allowance_(allowance), held_(allowance) {}

  void add(Bounds more) {
    const size_t bytes = bytes_of(more.intervals);
    allowance_.work_on(bytes);
    held_.add(bytes);
    bounds_.intervals.insert(bounds_.intervals.end(), std::make_move_iterator(more.intervals.begin()),
                             std::make_move_iterator(more.intervals.end()));
    bounds_.exact = bounds_.exact && more.exact;
  }
  // Many intervals are put in order once, since each time costs as much as there are.
  Bounds take() {
    bounds_.intervals = normalize(std::move(bounds_.intervals), allowance_);
    return std::move(bounds_);
  }

 private:
  Allowance& allowance_;
  PlanBytes held_;
  Bounds bounds_{{}, true};
};

std::optional<Bounds> in_bounds(const match::In& node, const KeyForm& keys, Allowance& allowance) {
  AnyOf any(allowance);
  for (const ValueView& value : node.values()) {
    allowance.work_on(value.bytes().size());
    Value scratch;
    const auto key = in_keys(value, node.collator(), keys, scratch);
    auto one = !key ? std::nullopt : keys.hashed ? hashed_bounds(*key) : std::optional(equality_bounds(*key));
    if (!one) return std::nullopt;
    any.add(*std::move(one));
  }
  if (keys.hashed && !node.regexes().empty()) return std::nullopt;
  for (const auto& regex : node.regexes()) any.add(regex_bounds(static_cast<const match::RegexNode&>(*regex), keys));
  return any.take();
}

Bounds type_bounds(const match::TypeIs& node) {
  Intervals intervals;
  for (int code = 1; code < 256; ++code) {
    if (!node.types()[static_cast<size_t>(code)]) continue;
    const Type type = static_cast<Type>(code);
    const Intervals one = bson::is_number(type) ? numbers_and_nan() : bracket(type);
    if (type == Type::array || one.empty()) return {everything(), false};
    intervals = unite(std::move(intervals), one);
  }
  return {std::move(intervals), false};
}

std::optional<Bounds> negation_bounds(const Node& child, std::string_view path, bool multikey, const KeyForm& keys,
                                      Allowance& allowance) {
  if (child.kind() == Kind::exists) {
    if (static_cast<const match::PathNode&>(child).path() != path) return std::nullopt;
    return Bounds{null_points(), false};
  }
  if (child.kind() != Kind::eq && child.kind() != Kind::in && child.kind() != Kind::lt && child.kind() != Kind::lte &&
      child.kind() != Kind::gt && child.kind() != Kind::gte) {
    return std::nullopt;
  }
  const auto bounds = bounds_of(child, path, multikey, keys, allowance);
  if (!bounds || !bounds->exact) return std::nullopt;
  allowance.work_on(bytes_of(bounds->intervals));
  return Bounds{complement(bounds->intervals), false};
}

// One key must satisfy all of them or, if there may be several keys, at least one of them.
std::optional<Bounds> all_bounds(const std::vector<match::NodePtr>& nodes, std::string_view path, bool one_key,
                                 const KeyForm& keys, Allowance& allowance) {
  std::vector<Intervals> lists;
  PlanBytes held(allowance);
  for (const auto& node : nodes) {
    if (!one_key && !lists.empty()) break;
    auto more = bounds_of(*node, path, !one_key, keys, allowance);
    if (!more) continue;
    held.add(bytes_of(more->intervals) + sizeof(Intervals));
    lists.push_back(std::move(more->intervals));
  }
  if (lists.empty()) return std::nullopt;
  return Bounds{intersect(std::move(lists), allowance), false};
}

std::optional<Bounds> any_bounds(const std::vector<match::NodePtr>& nodes, std::string_view path, bool multikey,
                                 const KeyForm& keys, Allowance& allowance) {
  AnyOf any(allowance);
  for (const auto& node : nodes) {
    auto more = bounds_of(*node, path, multikey, keys, allowance);
    if (!more) return std::nullopt;
    any.add(*std::move(more));
  }
  return any.take();
}

}  // namespace

namespace {

// Returns whether a value that equals this one is, or has as an element, a key of a wildcard index.
bool is_leaf(const ValueView& value) {
  if (value.is_nullish()) return false;
  return !(value.is_object() || value.is_array()) || value.as_document().empty();
}

// Returns whether each value that fulfils the node is, or has as an element, a key of a wildcard index.
bool asks_for_leaves(const Node& node) {
  switch (node.kind()) {
    case Kind::eq: return is_leaf(static_cast<const match::Comparison&>(node).value());
    case Kind::lt:
    case Kind::lte:
    case Kind::gt:
    case Kind::gte: {
      const ValueView& value = static_cast<const match::Comparison&>(node).value();
      return is_leaf(value) && !value.is_object() && !value.is_array() && value.type() != Type::min_key &&
             value.type() != Type::max_key;
    }
    case Kind::in: {
      const auto& values = static_cast<const match::In&>(node).values();
      return std::all_of(values.begin(), values.end(), is_leaf);
    }
    case Kind::type: {
      const auto& types = static_cast<const match::TypeIs&>(node).types();
      return !types[static_cast<uint8_t>(Type::object)] && !types[static_cast<uint8_t>(Type::array)];
    }
    case Kind::regex:
    case Kind::mod:
    case Kind::elem_match_value: return true;
    default: return false;
  }
}

std::optional<Bounds> leaf_bounds(const match::PathNode& node, std::string_view path, const KeyForm& keys, Allowance& allowance) {
  if (!asks_for_leaves(node)) return std::nullopt;
  KeyForm plain = keys;
  plain.leaves = node.kind() == Kind::elem_match_value;
  auto bounds = plain.leaves ? all_bounds(static_cast<const match::ElemMatchValue&>(node).operators(), "", true, plain, allowance)
                             : bounds_of(node, path, true, plain, allowance);
  // The key {} stands for any object of which nothing else is in the index.
  if (bounds && !intersect(bounds->intervals, bracket(Type::object)).empty()) bounds->exact = false;
  return bounds;
}

}  // namespace

std::optional<Bounds> bounds_of(const Node& node, std::string_view path, bool multikey, const KeyForm& keys,
                                Allowance& allowance) {
  allowance.work();
  if (node.kind() == Kind::conjunction)
    return all_bounds(static_cast<const match::TreeNode&>(node).children(), path, !multikey, keys, allowance);
  if (node.kind() == Kind::disjunction)
    return any_bounds(static_cast<const match::TreeNode&>(node).children(), path, multikey, keys, allowance);
  if (node.kind() == Kind::negation && (keys.hashed || keys.geo || keys.leaves)) return std::nullopt;
  if (node.kind() == Kind::negation)
    return negation_bounds(static_cast<const match::NotNode&>(node).child(), path, multikey, keys, allowance);
  const auto* leaf = dynamic_cast<const match::PathNode*>(&node);
  if (!leaf || leaf->path() != path) return std::nullopt;
  if (node.kind() == Kind::expr_comparison) return expr_bounds(static_cast<const match::ExprComparison&>(node), multikey, keys);
  if (keys.geo || node.kind() == Kind::geo || node.kind() == Kind::geo_near) return location_bounds(*leaf, keys);
  if (keys.hashed && node.kind() != Kind::eq && node.kind() != Kind::in) return std::nullopt;
  if (keys.leaves && (node.kind() != Kind::elem_match_value || !path.empty())) return leaf_bounds(*leaf, path, keys, allowance);
  switch (node.kind()) {
    case Kind::eq:
    case Kind::lt:
    case Kind::lte:
    case Kind::gt:
    case Kind::gte: return comparison_bounds(static_cast<const match::Comparison&>(node), keys);
    case Kind::in: return in_bounds(static_cast<const match::In&>(node), keys, allowance);
    case Kind::regex: return regex_bounds(static_cast<const match::RegexNode&>(node), keys);
    case Kind::exists: return Bounds{everything(), false};
    case Kind::type: return type_bounds(static_cast<const match::TypeIs&>(node));
    case Kind::mod: return Bounds{bracket(Type::number_double), false};
    // An element is one key, so its operators apply to the same key. Their own path is empty. An array inside such an element is
    // in no key as its elements: an index takes apart one array at the end of its path.
    case Kind::elem_match_value:
      if (path.empty()) return std::nullopt;
      return all_bounds(static_cast<const match::ElemMatchValue&>(node).operators(), "", true, keys, allowance);
    default: return std::nullopt;
  }
}

bool matches_missing(const Node& node, std::string_view path, Allowance& allowance) {
  allowance.work();
  const auto missing = [&](const auto& child) { return matches_missing(*child, path, allowance); };
  if (node.kind() == Kind::conjunction || node.kind() == Kind::disjunction) {
    const auto& children = static_cast<const match::TreeNode&>(node).children();
    return node.kind() == Kind::conjunction ? std::all_of(children.begin(), children.end(), missing)
                                            : std::any_of(children.begin(), children.end(), missing);
  }
  const auto* leaf = dynamic_cast<const match::PathNode*>(&node);
  if (!leaf) return true;
  // Above other values comes an array, too, of which a sparse index may have no keys.
  if (node.kind() == Kind::expr_comparison && static_cast<const match::ExprComparison&>(node).comparison() != Kind::eq)
    return true;
  if (node.kind() == Kind::elem_match_object && path.size() > leaf->path().size() + 1 && path.starts_with(leaf->path()) &&
      path[leaf->path().size()] == '.') {
    return matches_missing(static_cast<const match::ElemMatchObject&>(node).filter(), path.substr(leaf->path().size() + 1),
                           allowance);
  }
  return leaf->path() != path || leaf->matches_value(ValueView());
}

}  // namespace server::query::plan
