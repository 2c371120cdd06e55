// $elemMatch, $size and $all match arrays as arrays.
#pragma once

#include "server/query/match/node.h"

namespace server::query::match {

// Matches if some element, taken as a document, matches the filter.
class ElemMatchObject : public PathNode {
 public:
  ElemMatchObject(std::string_view path, NodePtr filter)
      : PathNode(Kind::elem_match_object, path, LeafArray::whole), filter_(std::move(filter)) {}
  const Node& filter() const { return *filter_; }
  void account_to(Allowance* allowance) override;
  bool matches(bson::DocumentView document, Details* details) const override;
  bool matches_value(const bson::ValueView& value) const override;
  void append_operator(bson::Builder& out) const override;

 private:
  bool accepts(const bson::Element& element) const;
  const NodePtr filter_;
};

// Matches if some element fulfils every operator.
class ElemMatchValue : public PathNode {
 public:
  ElemMatchValue(std::string_view path, std::vector<NodePtr> operators)
      : PathNode(Kind::elem_match_value, path, LeafArray::whole), operators_(std::move(operators)) {}
  const std::vector<NodePtr>& operators() const { return operators_; }
  void account_to(Allowance* allowance) override;
  bool matches(bson::DocumentView document, Details* details) const override;
  bool matches_value(const bson::ValueView& value) const override;
  void append_operator(bson::Builder& out) const override;

 private:
  bool accepts(const bson::Element& element) const;
  const std::vector<NodePtr> operators_;
};

class Size : public PathNode {
 public:
  Size(std::string_view path, int64_t size) : PathNode(Kind::size, path, LeafArray::whole), size_(size) {}
  bool matches_value(const bson::ValueView& value) const override;
  void append_operator(bson::Builder& out) const override { out.append("$size", size_); }

 private:
  const int64_t size_;
};

}  // namespace server::query::match
