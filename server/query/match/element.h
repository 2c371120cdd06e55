// $exists and $type match whether there is a value, and its type.
#pragma once

#include <bitset>

#include "server/query/match/node.h"

namespace server::query::match {

// {$exists: true}; its opposite is a NotNode over it.
class Exists : public PathNode {
 public:
  explicit Exists(std::string_view path) : PathNode(Kind::exists, path, LeafArray::expand) {}
  bool matches_value(const bson::ValueView& value) const override { return value.exists(); }
  void append_operator(bson::Builder& out) const override { out.append("$exists", true); }
};

using TypeSet = std::bitset<256>;

class TypeIs : public PathNode {
 public:
  TypeIs(std::string_view path, const TypeSet& types) : PathNode(Kind::type, path, LeafArray::expand), types_(types) {}
  const TypeSet& types() const { return types_; }
  bool matches_value(const bson::ValueView& value) const override {
    return value.exists() && types_[static_cast<uint8_t>(value.type())];
  }
  void append_operator(bson::Builder& out) const override;

 private:
  const TypeSet types_;
};

// Reads $type's operand: a name, a number, or an array of them.
TypeSet parse_type_set(const bson::Element& operand);

}  // namespace server::query::match
