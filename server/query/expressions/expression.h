// Expressions: what $project, $group, $expr and update pipelines compute.
//
// Parsed once into a tree, evaluated once per document:
//
//   {$add: ["$price", {$multiply: ["$n", 2]}]}
//
//          add
//         /   \            field paths read the document where it lies,
//    $price   multiply     constants are values already,
//             /     \      operators come from the registry by name
//           $n       2
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bson/document.h"
#include "bson/value.h"

namespace server::query {

// One evaluation's state: the document and the values of the variables.
struct Frame {
  bson::DocumentView root;
  std::vector<bson::Value> slots;  // of let, $map …; indexed by what the parser handed out
};

// Immutable after parsing; evaluate() may run in many threads with a frame each.
class Expression {
 public:
  virtual ~Expression() = default;
  // Missing (type eod) where the expression has no value. Throws OperationError.
  virtual bson::Value evaluate(Frame& frame) const = 0;
  // The same without a copy where the value already lies somewhere: in the
  // document, a constant, a slot. `scratch` holds it otherwise.
  virtual bson::ValueView view(Frame& frame, bson::Value& scratch) const {
    scratch = evaluate(frame);
    return scratch.view();
  }
  // Its value, when it needs no document: folded while parsing.
  virtual const bson::Value* constant() const { return nullptr; }
  // "a.b" when it is just a field path of the document: what planners look for.
  virtual std::optional<std::string_view> field_path() const { return std::nullopt; }
};
using ExpressionPtr = std::unique_ptr<Expression>;

// The variables in sight while parsing. One object a pipeline or filter; nested
// scopes shadow. Slots are handed out once and never reused.
class Scope {
 public:
  // `now_ms` is what $$NOW gives, the same all through a command.
  explicit Scope(int64_t now_ms);

  // A variable of the command (`let`): its value is known from the start.
  void define(std::string name, bson::Value value);
  // From here until the matching `leave`.
  int enter(std::string name);
  void leave(size_t count = 1);

  // nullopt: no such variable.
  std::optional<int> find(std::string_view name) const;
  const bson::Value* defined(std::string_view name) const;
  int64_t now_ms() const { return now_ms_; }
  int slots() const { return slots_; }

 private:
  struct Variable {
    std::string name;
    int slot;
    bson::Value value;  // of defined ones
  };
  std::vector<Variable> variables_;
  int slots_ = 0;
  int64_t now_ms_;
};

// Throws OperationError with MongoDB's codes for what isn't an expression.
ExpressionPtr parse_expression(const bson::ValueView& value, Scope& scope);

// An operator's arguments: an array's elements, or the one value it is.
std::vector<ExpressionPtr> parse_arguments(const bson::ValueView& value, Scope& scope);

// An expression together with the frame size it needs.
class Compiled {
 public:
  Compiled() = default;
  Compiled(ExpressionPtr expression, const Scope& scope) : expression_(std::move(expression)), slots_(scope.slots()) {}
  bson::Value operator()(bson::DocumentView document) const {
    Frame frame{document, std::vector<bson::Value>(slots_)};
    return expression_->evaluate(frame);
  }
  const Expression& expression() const { return *expression_; }
  explicit operator bool() const { return expression_ != nullptr; }

 private:
  ExpressionPtr expression_;
  int slots_ = 0;
};

// "$a.b" without its dollar; "a.b" of a document with arrays on the way mapped over.
bson::Value evaluate_path(bson::DocumentView document, std::string_view path);

ExpressionPtr make_constant(bson::Value value);

}  // namespace server::query
