#include "server/query/match/expr_comparison.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"
#include "bson/compare.h"
#include "bson/path.h"

namespace server::query::match {

namespace {

using bson::Element;
using bson::Type;
using bson::Value;
using bson::ValueView;

struct Operator {
  std::string_view name;
  Kind kind;
  Kind turned;  // the same with its sides exchanged
  const char* shown;
};

constexpr std::array<Operator, 5> operators{{{"$eq", Kind::eq, Kind::eq, "$_internalExprEq"},
                                             {"$lt", Kind::lt, Kind::gt, "$_internalExprLt"},
                                             {"$lte", Kind::lte, Kind::gte, "$_internalExprLte"},
                                             {"$gt", Kind::gt, Kind::lt, "$_internalExprGt"},
                                             {"$gte", Kind::gte, Kind::lte, "$_internalExprGte"}}};

// Returns the path of "$a.b"; nullopt for anything else, and for paths that an index reads otherwise: a number is a position
// there, too.
std::optional<std::string_view> field_of(const ValueView& operand) {
  if (operand.type() != Type::string) return std::nullopt;
  std::string_view path = operand.as_string();
  std::string_view beginning = "$";
  for (const std::string_view root : {"$$ROOT.", "$$CURRENT."}) {
    if (path.starts_with(root)) beginning = root;
  }
  if (!path.starts_with(beginning) || (beginning == "$" && path.starts_with("$$"))) return std::nullopt;
  path.remove_prefix(beginning.size());
  const auto parts = bson::split_path(path);
  if (path.empty() || std::any_of(parts.begin(), parts.end(), bson::is_array_index)) return std::nullopt;
  return path;
}

// Returns whether the value of an expression is the same for all documents and at any time of the operation.
bool is_constant(const ValueView& expression) {
  if (expression.type() == Type::string) {
    const std::string_view text = expression.as_string();
    if (!text.starts_with('$')) return true;
    return text.starts_with("$$") && !text.starts_with("$$ROOT") && !text.starts_with("$$CURRENT");
  }
  if (!expression.is_object() && !expression.is_array()) return true;
  // They read the document without naming a path, or aren't the same each time.
  static constexpr std::string_view others[] = {"$getField", "$rand", "$function", "$meta", "$accumulator"};
  const bson::DocumentView parts = expression.as_document();
  if (expression.is_object() && (parts.first().name == "$literal" || parts.first().name == "$const")) return true;
  return std::all_of(parts.begin(), parts.end(), [](const Element& part) {
    return std::find(std::begin(others), std::end(others), part.name) == std::end(others) && is_constant(part);
  });
}

// Returns a missing value if the operand isn't one that an index can be asked for.
Value constant_of(const ValueView& operand, const ParseContext& context) {
  if (!is_constant(operand)) return {};
  try {
    Value value = context.expressions->compile(operand, context)->evaluate({});
    const Type type = value.type();
    return type == Type::array || type == Type::undefined ? Value() : value;
  } catch (const base::OperationError&) {
    return {};  // the expression itself fails in the same way, for the documents that get to it
  }
}

NodePtr comparison_in(const Operator& found, bson::DocumentView operands, const ParseContext& context) {
  if (operands.count() != 2) return nullptr;
  const Element left = operands.first();
  const Element right = *std::next(operands.begin());
  const auto on_left = field_of(left);
  const auto path = on_left ? on_left : field_of(right);
  if (!path) return nullptr;
  Value value = constant_of(on_left ? right : left, context);
  if (!value.exists()) return nullptr;
  return std::make_unique<ExprComparison>(on_left ? found.kind : found.turned, *path, std::move(value), context.collator.get());
}

}  // namespace

NodePtr comparisons_in(const ValueView& expression, const ParseContext& context) {
  if (!expression.is_object() || expression.as_document().count() != 1) return nullptr;
  const Element only = expression.as_document().first();
  if (!only.is_array()) return nullptr;
  if (only.name == "$and" || only.name == "$or") {
    std::vector<NodePtr> parts;
    for (const Element& part : only.as_document()) {
      if (NodePtr found = comparisons_in(part, context)) {
        parts.push_back(std::move(found));
      } else if (only.name == "$or") {
        return nullptr;  // a document may be there for the sake of this part
      }
    }
    if (parts.empty()) return nullptr;
    if (only.name == "$and") return all_of(std::move(parts));
    return std::make_unique<TreeNode>(Kind::disjunction, std::move(parts));
  }
  const auto found = std::find_if(operators.begin(), operators.end(), [&](const Operator& one) { return one.name == only.name; });
  return found == operators.end() ? nullptr : comparison_in(*found, only.as_document(), context);
}

bool ExprComparison::matches(bson::DocumentView document, Details*) const {
  std::string_view path = this->path();
  for (;;) {
    const size_t dot = path.find('.');
    const Element element = document.find(path.substr(0, dot));
    if (element.is_array()) return true;
    if (dot == path.npos) return matches_value(element);
    if (!element.is_object()) return matches_value(ValueView());
    document = element.as_document();
    path.remove_prefix(dot + 1);
  }
}

bool ExprComparison::matches_value(const ValueView& value) const {
  const int order = bson::compare(value, value_.view(), collator_);
  switch (comparison_) {
    case Kind::eq: return order == 0;
    case Kind::lt: return order < 0;
    case Kind::lte: return order <= 0;
    case Kind::gt: return order > 0;
    default: return order >= 0;
  }
}

void ExprComparison::append_operator(bson::Builder& out) const {
  const auto found =
      std::find_if(operators.begin(), operators.end(), [&](const Operator& one) { return one.kind == comparison_; });
  out.append(found->shown, value_);
}

}  // namespace server::query::match
