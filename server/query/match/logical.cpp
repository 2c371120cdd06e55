// This file has $and, $or, $nor, $not, $comment, $alwaysTrue and $alwaysFalse.
#include "server/query/match/parser.h"

namespace server::query::match {

namespace {

template <Kind kind>
NodePtr parse_tree(const bson::Element& operand, Parsing& parsing) {
  if (!operand.is_array()) bad_value(std::string(operand.name) + " must be an array");
  std::vector<NodePtr> children;
  for (const bson::Element& entry : operand.as_document()) {
    if (!entry.is_object()) bad_value("$or/$and/$nor entries need to be full objects");
    children.push_back(parse_filter(entry.as_document(), parsing));
  }
  if (children.empty()) bad_value("$and/$or/$nor must be a nonempty array");
  if (kind != Kind::nor && children.size() == 1) return std::move(children.front());
  return std::make_unique<TreeNode>(kind, std::move(children));
}

NodePtr parse_not(std::string_view path, const bson::Element& operand, bson::DocumentView, Parsing& parsing) {
  if (operand.type() == bson::Type::regex) return std::make_unique<NotNode>(make_regex(path, operand, parsing));
  if (!operand.is_object()) bad_value("$not needs a regex or a document");
  if (operand.as_document().empty()) bad_value("$not cannot be empty");
  std::vector<NodePtr> children;
  if (++parsing.depth > depth_max) bad_value("exceeded maximum query tree depth of 100 at " + std::string(path));
  parse_operators(path, operand.as_document(), parsing, children);
  --parsing.depth;
  return std::make_unique<NotNode>(all_of(std::move(children)));
}

// A comment has no effect; any value will do.
NodePtr parse_comment(const bson::Element&, Parsing&) {
  return nullptr;
}

template <bool answer>
NodePtr parse_always(const bson::Element& operand, Parsing&) {
  if (!operand.is_number()) {
    throw base::OperationError(base::ErrorCode::failed_to_parse, std::string(operand.name) + " must be a number and must be 1");
  }
  if (operand.to_double() != 1) {
    throw base::OperationError(base::ErrorCode::failed_to_parse, std::string(operand.name) + " must be an integer value of 1");
  }
  return std::make_unique<AlwaysNode>(answer);
}

constexpr PathOperatorRow path_operators[] = {{"$not", parse_not}};
constexpr TopOperatorRow top_operators[] = {
    {"$and", parse_tree<Kind::conjunction>}, {"$or", parse_tree<Kind::disjunction>},
    {"$nor", parse_tree<Kind::nor>},         {"$comment", parse_comment},
    {"$alwaysTrue", parse_always<true>},     {"$alwaysFalse", parse_always<false>},
};

}  // namespace

Family logical_family() {
  return {path_operators, top_operators};
}

}  // namespace server::query::match
