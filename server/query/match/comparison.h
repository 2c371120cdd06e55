// $eq $gt $gte $lt $lte and $in compare values with values of the same type
// bracket.
#pragma once

#include <vector>

#include "server/query/match/node.h"
#include "server/query/match/regex.h"

namespace server::query::match {

class Comparison : public PathNode {
 public:
  Comparison(Kind kind, std::string_view path, const bson::ValueView& value)
      : PathNode(kind, path, LeafArray::expand), value_(value) {}

  const bson::ValueView& value() const { return value_; }

  bool matches_value(const bson::ValueView& value) const override;
  void append_operator(bson::Builder& out) const override;

 private:
  const bson::ValueView value_;
};

class In : public PathNode {
 public:
  In(std::string_view path, std::vector<bson::ValueView> values, std::vector<NodePtr> regexes);

  const std::vector<bson::ValueView>& values() const { return values_; }  // sorted, no doubles
  const std::vector<NodePtr>& regexes() const { return regexes_; }        // RegexNodes
  bool has_null() const { return has_null_; }

  bool matches_value(const bson::ValueView& value) const override;
  void append_operator(bson::Builder& out) const override;

 private:
  std::vector<bson::ValueView> values_;
  const std::vector<NodePtr> regexes_;
  bool has_null_ = false;
};

}  // namespace server::query::match
