// $eq $gt $gte $lt $lte and $in compare values with values of the same type
// bracket.
#pragma once

#include <vector>

#include "bson/collator.h"
#include "server/query/match/node.h"
#include "server/query/match/regex.h"

namespace server::query::match {

class Comparison : public PathNode {
 public:
  // `collator` may be nullptr; it lives as long as the node.
  Comparison(Kind kind, std::string_view path, const bson::ValueView& value, const bson::Collator* collator)
      : PathNode(kind, path, LeafArray::expand), value_(value), collator_(collator) {}

  const bson::ValueView& value() const { return value_; }
  const bson::Collator* collator() const { return collator_; }

  bool matches_value(const bson::ValueView& value) const override;
  std::optional<std::string_view> decided_by() const override { return path_.first_part(); }
  bool matches_field(const bson::Element& field) const override;
  void append_operator(bson::Builder& out) const override;

 private:
  const bson::ValueView value_;
  const bson::Collator* const collator_;
};

class In : public PathNode {
 public:
  // Sorts the values, which it accounts for to `allowance`, if there is one.
  In(std::string_view path, std::vector<bson::ValueView> values, std::vector<NodePtr> regexes, const bson::Collator* collator,
     Allowance* allowance = nullptr);

  const std::vector<bson::ValueView>& values() const { return values_; }  // sorted, no doubles
  const std::vector<NodePtr>& regexes() const { return regexes_; }        // RegexNodes
  bool has_null() const { return has_null_; }
  const bson::Collator* collator() const { return collator_; }

  void account_to(Allowance* allowance) override;
  bool matches_value(const bson::ValueView& value) const override;
  std::optional<std::string_view> decided_by() const override { return path_.first_part(); }
  void append_operator(bson::Builder& out) const override;

 private:
  std::vector<bson::ValueView> values_;
  const std::vector<NodePtr> regexes_;
  bool has_null_ = false;
  const bson::Collator* const collator_;
};

}  // namespace server::query::match
