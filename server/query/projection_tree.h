// A projection's specification becomes a tree of field names. The tree is private
// to projection.cpp.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bson/document.h"
#include "bson/value.h"
#include "server/query/matcher.h"
#include "server/query/named_children.h"
#include "server/query/parse_context.h"

namespace server::query::projection {

enum class Action { descend, include, exclude, slice, position, elem_match, compute };

struct Slice {
  int64_t skip = 0;  // negative: counted from the end
  int64_t limit = 0;
};

struct Node {
  std::string name;
  Action action = Action::descend;
  NamedChildren<Node> children;
  Slice slice;
  std::unique_ptr<Matcher> matcher;                // elem_match
  bool by_value = false;                           // the matcher matches values
  bson::Value literal;                             // of compute: either this
  std::unique_ptr<CompiledExpression> expression;  // or that
  bool computes_below = false;                     // a descendant is a compute or elem_match
  bool positional_below = false;
};

struct Tree {
  std::unique_ptr<Node> root;
  bool inclusion = false;
  bool positional = false;
  bool simple = true;
};

Tree parse(bson::DocumentView specification, const ParseContext& context);

}  // namespace server::query::projection
