// $project, $addFields, $unset and the pipelines of updates reshape documents.
//
// The specification is a tree over field names; a document is walked along it
// once. Arrays on the way are mapped over.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bson/document.h"
#include "server/query/expressions/expression.h"

namespace server::query {

class Transform {
 public:
  enum class Kind { inclusion, exclusion, addition };

  // `stage` is its name in messages. Throws as MongoDB does (31249 path collisions, 31253, 31254, 51272 …).
  static Transform project(std::string_view stage, bson::DocumentView specification, Scope& scope);
  static Transform add_fields(std::string_view stage, bson::DocumentView specification, Scope& scope);
  static Transform unset(std::string_view stage, const std::vector<std::string>& paths);

  Transform(Transform&&) noexcept;
  Transform& operator=(Transform&&) noexcept;
  ~Transform();

  // Accounts for its work to the frame, and holds what it makes there meanwhile.
  bson::Document apply(bson::DocumentView document, Frame& frame) const;
  Kind kind() const { return kind_; }

 private:
  struct Node;
  struct Reader;
  class Application;
  Transform(Kind kind, std::unique_ptr<Node> root);
  Kind kind_;
  std::unique_ptr<Node> root_;
};

}  // namespace server::query
