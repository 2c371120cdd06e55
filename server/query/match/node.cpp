#include "server/query/match/node.h"

#include <algorithm>

namespace server::query::match {

bool PathNode::matches(bson::DocumentView document, Details* details) const {
  work_on(document.size());  // for elements on the way that have no value at the path
  return path_.walk(document, leaf_, [&](const bson::ValueView& value, std::string_view outer) {
    work();
    if (!matches_value(value)) return false;
    if (details && !outer.empty()) details->array_position = outer;
    return true;
  });
}

bool PathNode::matches_field(const bson::Element& field) const {
  work_on(field.bytes().size());
  return path_.walk_from(field, leaf_, [&](const bson::ValueView& value, std::string_view) {
    work();
    return matches_value(value);
  });
}

void PathNode::append(bson::Builder& out) const {
  auto object = out.object(path());
  append_operator(object);
}

void TreeNode::account_to(Allowance* allowance) {
  for (const NodePtr& child : children_) child->account_to(allowance);
}

bool TreeNode::matches(bson::DocumentView document, Details* details) const {
  const auto one = [&](const NodePtr& child, Details* child_details) { return child->matches(document, child_details); };
  switch (kind()) {
    case Kind::conjunction:
      for (const NodePtr& child : children_) {
        if (one(child, details)) continue;
        if (details) details->array_position.reset();
        return false;
      }
      return true;
    // It is undefined which branch's position counts, so none does.
    case Kind::disjunction:
      return std::any_of(children_.begin(), children_.end(), [&](const NodePtr& child) { return one(child, nullptr); });
    default: return std::none_of(children_.begin(), children_.end(), [&](const NodePtr& child) { return one(child, nullptr); });
  }
}

bool TreeNode::matches_value(const bson::ValueView& value) const {
  const auto one = [&](const NodePtr& child) { return child->matches_value(value); };
  switch (kind()) {
    case Kind::conjunction: return std::all_of(children_.begin(), children_.end(), one);
    case Kind::disjunction: return std::any_of(children_.begin(), children_.end(), one);
    default: return std::none_of(children_.begin(), children_.end(), one);
  }
}

void TreeNode::append(bson::Builder& out) const {
  if (kind() == Kind::conjunction && children_.empty()) return;
  const char* name = kind() == Kind::conjunction ? "$and" : kind() == Kind::disjunction ? "$or" : "$nor";
  auto array = out.array(name);
  for (const NodePtr& child : children_) {
    auto object = array.object();
    child->append(object);
  }
}

// Only a conjunction can be written as operators side by side.
void TreeNode::append_operator(bson::Builder& out) const {
  if (kind() != Kind::conjunction) return append(out);
  for (const NodePtr& child : children_) child->append_operator(out);
}

bool NotNode::matches(bson::DocumentView document, Details*) const {
  return !child_->matches(document, nullptr);
}

bool NotNode::matches_value(const bson::ValueView& value) const {
  return !child_->matches_value(value);
}

void NotNode::append(bson::Builder& out) const {
  if (const std::string* path = path_of(*child_)) {
    auto object = out.object(*path);
    return append_operator(object);
  }
  auto array = out.array("$nor");
  auto object = array.object();
  child_->append(object);
}

void NotNode::append_operator(bson::Builder& out) const {
  auto object = out.object("$not");
  child_->append_operator(object);
}

NodePtr all_of(std::vector<NodePtr> children) {
  if (children.size() == 1) return std::move(children.front());
  return std::make_unique<TreeNode>(Kind::conjunction, std::move(children));
}

const std::string* path_of(const Node& node) {
  if (const auto* leaf = dynamic_cast<const PathNode*>(&node)) return &leaf->path();
  if (const auto* negation = dynamic_cast<const NotNode*>(&node)) return path_of(negation->child());
  if (node.kind() == Kind::conjunction) {
    // $not may stand over several operators of one field.
    const std::string* common = nullptr;
    for (const NodePtr& child : static_cast<const TreeNode&>(node).children()) {
      const std::string* path = path_of(*child);
      if (!path || (common && *path != *common)) return nullptr;
      common = path;
    }
    return common;
  }
  return nullptr;
}

}  // namespace server::query::match
