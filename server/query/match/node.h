// A parsed filter is a tree of nodes.
//
// A node matches a whole document (`matches`), or one value without a path
// (`matches_value`: inside $elemMatch over values, $pull). The planner reads the
// tree through `kind()` and the public members of the concrete nodes.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bson/builder.h"
#include "bson/document.h"
#include "server/core/allowance.h"
#include "server/query/match/path.h"

namespace server::query::match {

enum class Kind {
  conjunction,  // $and
  disjunction,  // $or
  nor,
  negation,  // $not
  eq,
  lt,
  lte,
  gt,
  gte,
  in,
  regex,
  exists,
  type,
  size,
  elem_match_object,
  elem_match_value,
  mod,
  bits,
  geo,       // $geoWithin, $geoIntersects
  geo_near,  // $near, $nearSphere
  expr,
  expr_comparison,  // what a comparison in an $expr says about one field
  text,             // $text
  always,           // $alwaysTrue, $alwaysFalse, an $all of nothing
};

// Details are what a match finds beside yes.
struct Details {
  std::optional<std::string> array_position;
};

class Node {
 public:
  explicit Node(Kind kind) : kind_(kind) {}
  virtual ~Node() = default;
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  Kind kind() const { return kind_; }

  // `details` may be nullptr.
  virtual bool matches(bson::DocumentView document, Details* details) const = 0;
  virtual bool matches_value(const bson::ValueView& value) const = 0;

  // Returns the name of the document's field that alone decides; nullopt: the node looks at more. With that field (a missing
  // value if there is none) `matches_field` says what `matches` does: whoever has found the field saves the search.
  virtual std::optional<std::string_view> decided_by() const { return std::nullopt; }
  virtual bool matches_field(const bson::Element&) const { return false; }

  // Makes the node and those below it account for their work; nullptr: nobody can stop them.
  virtual void account_to(Allowance* allowance) { allowance_ = allowance; }

  // Appends the node as explain's parsedQuery shows it: `a: {$gt: 5}`.
  virtual void append(bson::Builder& out) const = 0;
  // Appends the operator alone, `$gt: 5`, for nodes that have a path or need none.
  virtual void append_operator(bson::Builder& out) const = 0;

 protected:
  // A node calls it for each value or element that it looks at.
  void work(size_t units = 1) const {
    if (allowance_) allowance_->work(units);
  }
  void work_on(size_t bytes) const {
    if (allowance_) allowance_->work_on(bytes);
  }
  // Returns the allowance for code that counts its own work; nullptr if there is none.
  Allowance* allowance() const { return allowance_; }

 private:
  const Kind kind_;
  Allowance* allowance_ = nullptr;
};

using NodePtr = std::unique_ptr<Node>;

// A node that matches the values at a path.
class PathNode : public Node {
 public:
  PathNode(Kind kind, std::string_view path, LeafArray leaf) : Node(kind), path_(path), leaf_(leaf) {}

  const std::string& path() const { return path_.text(); }

  bool matches(bson::DocumentView document, Details* details) const override;
  bool matches_field(const bson::Element& field) const override;
  void append(bson::Builder& out) const override;

 protected:
  const Path path_;

 private:
  const LeafArray leaf_;
};

// A node over other nodes.
class TreeNode : public Node {
 public:
  TreeNode(Kind kind, std::vector<NodePtr> children) : Node(kind), children_(std::move(children)) {}

  const std::vector<NodePtr>& children() const { return children_; }

  void account_to(Allowance* allowance) override;
  bool matches(bson::DocumentView document, Details* details) const override;
  bool matches_value(const bson::ValueView& value) const override;
  void append(bson::Builder& out) const override;
  void append_operator(bson::Builder& out) const override;

 private:
  const std::vector<NodePtr> children_;
};

// $not over one node.
class NotNode : public Node {
 public:
  explicit NotNode(NodePtr child) : Node(Kind::negation), child_(std::move(child)) {}

  const Node& child() const { return *child_; }

  void account_to(Allowance* allowance) override { child_->account_to(allowance); }
  bool matches(bson::DocumentView document, Details* details) const override;
  std::optional<std::string_view> decided_by() const override { return child_->decided_by(); }
  bool matches_field(const bson::Element& field) const override { return !child_->matches_field(field); }
  bool matches_value(const bson::ValueView& value) const override;
  void append(bson::Builder& out) const override;
  void append_operator(bson::Builder& out) const override;

 private:
  const NodePtr child_;
};

class AlwaysNode : public Node {
 public:
  explicit AlwaysNode(bool answer) : Node(Kind::always), answer_(answer) {}
  bool answer() const { return answer_; }
  bool matches(bson::DocumentView, Details*) const override { return answer_; }
  bool matches_value(const bson::ValueView&) const override { return answer_; }
  void append(bson::Builder& out) const override { append_operator(out); }
  void append_operator(bson::Builder& out) const override { out.append(answer_ ? "$alwaysTrue" : "$alwaysFalse", 1); }

 private:
  const bool answer_;
};

// Returns the conjunction of `children`; the child itself if there is just one.
NodePtr all_of(std::vector<NodePtr> children);

// Returns the node's path; nullptr if it has none.
const std::string* path_of(const Node& node);

}  // namespace server::query::match
