// Predicates that must all hold look at a document in one pass over its fields.
//
//   {n: {$gte: 0}, text: "x", last: 1}   _id  n  m  text  k  last
//                                             ^     ^        ^     each is found once; the first that fails ends the pass
#pragma once

#include <vector>

#include "bson/document.h"

namespace server::query::match {

class Node;

// It borrows the predicates. Immutable, so many threads may use it.
class FieldPass {
 public:
  FieldPass() = default;
  explicit FieldPass(const std::vector<const Node*>& predicates);
  bool matches(bson::DocumentView document) const;

 private:
  static constexpr size_t fields_max = 8;  // predicates on further fields look for them on their own
  static constexpr size_t whole_document = fields_max;
  struct Predicate {
    const Node* node;
    size_t field;  // the number in `fields_`
  };

  std::vector<Predicate> predicates_;
  std::vector<std::string_view> fields_;
  uint64_t tags_ = 0;  // of their names
};

}  // namespace server::query::match
