// These comparisons are what $expr says about single fields, in a form that has bounds in an index.
//
//   {$expr: {$and: [{$eq: ["$a", 5]}, {$gt: ["$b", "$c"]}]}}
//        =  {a: {$_internalExprEq: 5}}  and  the $expr itself
//
// An expression compares a whole value with another, of whatever type, where a filter's operators look into arrays and stay
// within a type. So the comparison holds for each document with an array on the path, and tells nothing about it.
#pragma once

#include "bson/collator.h"
#include "bson/value.h"
#include "server/query/match/node.h"
#include "server/query/parse_context.h"

namespace server::query::match {

class ExprComparison : public PathNode {
 public:
  // `comparison`: eq, lt, lte, gt or gte. `collator` may be nullptr; it lives as long as the node.
  ExprComparison(Kind comparison, std::string_view path, bson::Value value, const bson::Collator* collator)
      : PathNode(Kind::expr_comparison, path, LeafArray::whole),
        comparison_(comparison),
        value_(std::move(value)),
        collator_(collator) {}

  Kind comparison() const { return comparison_; }
  bson::ValueView value() const { return value_.view(); }
  const bson::Collator* collator() const { return collator_; }

  bool matches(bson::DocumentView document, Details* details) const override;
  bool matches_value(const bson::ValueView& value) const override;
  void append_operator(bson::Builder& out) const override;

 private:
  const Kind comparison_;
  const bson::Value value_;
  const bson::Collator* const collator_;
};

// Returns what holds for each document for which the expression is true; nullptr: nothing that an index could answer. The
// expression has been parsed without an error.
NodePtr comparisons_in(const bson::ValueView& expression, const ParseContext& context);

}  // namespace server::query::match
