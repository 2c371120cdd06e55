#include "server/query/match/array.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "server/core/text.h"
#include "server/query/match/parser.h"

namespace server::query::match {

namespace {

// Returns the name of the first element that it `accepts`; empty if there is none.
template <class Accepts>
std::string_view first_element(const bson::ValueView& array, Accepts&& accepts) {
  if (!array.is_array()) return {};
  for (const bson::Element& element : array.as_document()) {
    if (accepts(element)) return element.name;
  }
  return {};
}

// Visits the arrays and notes the element's position within the array itself.
template <class Find>
bool match_elements(const Path& path, bson::DocumentView document, Details* details, Find&& find) {
  return path.walk(document, LeafArray::whole, [&](const bson::ValueView& value, std::string_view) {
    const std::string_view position = find(value);
    if (position.empty()) return false;
    if (details) details->array_position = position;
    return true;
  });
}

}  // namespace

bool ElemMatchObject::accepts(const bson::Element& element) const {
  work();
  return (element.is_object() || element.is_array()) && filter_->matches(element.as_document(), nullptr);
}

bool ElemMatchObject::matches(bson::DocumentView document, Details* details) const {
  if (!details) return PathNode::matches(document, nullptr);
  return match_elements(path_, document, details, [&](const bson::ValueView& value) {
    return first_element(value, [&](const bson::Element& element) { return accepts(element); });
  });
}

bool ElemMatchObject::matches_value(const bson::ValueView& value) const {
  return !first_element(value, [&](const bson::Element& element) { return accepts(element); }).empty();
}

void ElemMatchObject::account_to(Allowance* allowance) {
  PathNode::account_to(allowance);
  filter_->account_to(allowance);
}

void ElemMatchObject::append_operator(bson::Builder& out) const {
  auto object = out.object("$elemMatch");
  filter_->append(object);
}

bool ElemMatchValue::accepts(const bson::Element& element) const {
  work(1 + operators_.size());
  return std::all_of(operators_.begin(), operators_.end(), [&](const NodePtr& node) { return node->matches_value(element); });
}

bool ElemMatchValue::matches(bson::DocumentView document, Details* details) const {
  if (!details) return PathNode::matches(document, nullptr);
  return match_elements(path_, document, details, [&](const bson::ValueView& value) {
    return first_element(value, [&](const bson::Element& element) { return accepts(element); });
  });
}

bool ElemMatchValue::matches_value(const bson::ValueView& value) const {
  return !first_element(value, [&](const bson::Element& element) { return accepts(element); }).empty();
}

void ElemMatchValue::account_to(Allowance* allowance) {
  PathNode::account_to(allowance);
  for (const NodePtr& node : operators_) node->account_to(allowance);
}

void ElemMatchValue::append_operator(bson::Builder& out) const {
  auto object = out.object("$elemMatch");
  for (const NodePtr& node : operators_) node->append_operator(object);
}

bool Size::matches_value(const bson::ValueView& value) const {
  return value.is_array() && static_cast<int64_t>(value.as_document().count()) == size_;
}

namespace {

NodePtr parse_size(std::string_view path, const bson::Element& operand, bson::DocumentView, Parsing&) {
  if (!operand.is_number()) bad_value("Failed to parse $size. Expected a number in: " + show_element(operand));
  const double size = operand.to_double();
  if (!operand.is_integer() && (std::trunc(size) != size || std::abs(size) > 9e15)) {
    bad_value("Failed to parse $size. Expected an integer: " + show_element(operand));
  }
  if (std::abs(size) > INT32_MAX)
    bad_value("Failed to parse $size. Cannot represent as a 32-bit integer: " + show_element(operand));
  if (size < 0) bad_value("Failed to parse $size. Expected a non-negative number in: " + show_element(operand));
  return std::make_unique<Size>(path, operand.to_int64());
}

NodePtr parse_elem_match(std::string_view path, const bson::Element& operand, bson::DocumentView, Parsing& parsing) {
  if (!operand.is_object()) bad_value("$elemMatch needs an Object");
  const bson::DocumentView document = operand.as_document();
  if (!is_value_match(document)) {
    const bool outer = std::exchange(parsing.in_element, true);
    NodePtr filter = parse_filter(document, parsing);
    parsing.in_element = outer;
    return std::make_unique<ElemMatchObject>(path, std::move(filter));
  }
  std::vector<NodePtr> operators;
  if (++parsing.depth > depth_max) bad_value("exceeded maximum query tree depth of 100 at " + std::string(path));
  parse_operators("", document, parsing, operators);
  --parsing.depth;
  return std::make_unique<ElemMatchValue>(path, std::move(operators));
}

bool is_elem_match(const bson::ValueView& value) {
  return value.is_object() && value.as_document().first().name == "$elemMatch";
}

NodePtr parse_all(std::string_view path, const bson::Element& operand, bson::DocumentView, Parsing& parsing) {
  if (!operand.is_array()) bad_value("$all needs an array");
  const bson::DocumentView entries = operand.as_document();
  if (entries.empty()) return std::make_unique<AlwaysNode>(false);
  const bool elem_match = is_elem_match(entries.first());
  std::vector<NodePtr> parts;
  for (const bson::Element& entry : entries) {
    if (elem_match) {
      if (!is_elem_match(entry)) bad_value("$all/$elemMatch has to be consistent");
      parts.push_back(parse_elem_match(path, entry.as_document().first(), entry.as_document(), parsing));
    } else if (entry.is_object() && is_path_operator(entry.as_document().first().name)) {
      bad_value("no $ expressions in $all");
    } else if (entry.type() == bson::Type::regex) {
      parts.push_back(make_regex(path, entry, parsing));
    } else {
      parts.push_back(make_equality(path, entry, parsing));
    }
  }
  return all_of(std::move(parts));
}

constexpr PathOperatorRow path_operators[] = {{"$all", parse_all}, {"$elemMatch", parse_elem_match}, {"$size", parse_size}};

}  // namespace

Family array_family() {
  return {path_operators, {}};
}

}  // namespace server::query::match
