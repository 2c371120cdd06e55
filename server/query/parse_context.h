// A filter, a projection or a sort is parsed in the context of its operation.
//
// The aggregation language compiles expressions ($expr, computed projections)
// through the plug below; without one they are refused.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "bson/collator.h"
#include "bson/document.h"
#include "bson/value.h"

namespace server {
class Allowance;
class OperationContext;
}  // namespace server

namespace server::query {

struct ParseContext;
class MetadataPlace;

// A compiled aggregation expression. One operation uses it at a time.
class CompiledExpression {
 public:
  virtual ~CompiledExpression() = default;
  // Returns a missing value if the expression has none. Throws OperationError.
  virtual bson::Value evaluate(bson::DocumentView root) const = 0;
};

// Thread-safe.
class ExpressionCompiler {
 public:
  virtual ~ExpressionCompiler() = default;
  // `specification` may be any value: an operator object, "$path", a literal.
  virtual std::unique_ptr<CompiledExpression> compile(const bson::ValueView& specification,
                                                      const ParseContext& context) const = 0;
};

struct ParseContext {
  const ExpressionCompiler* expressions = nullptr;
  bson::DocumentView let;                             // the user's variables, already constant; borrowed
  const OperationContext* op = nullptr;               // $$NOW belongs to it
  bson::CollatorPtr collator = nullptr;               // strings are compared by it
  Allowance* allowance = nullptr;                     // expressions account to it; it must outlive what is parsed
  bool scripts = false;                               // $where may be used
  bool planned = false;                               // indexes may answer what is parsed
  bool text = false;                                  // $text may be used
  std::shared_ptr<MetadataPlace> metadata = nullptr;  // $meta reads the current document's from here; nullptr: there are none
};

// Makes the context of an operation: expressions plugged in, `let` borrowed. What is parsed is used by this operation alone.
ParseContext parse_context(const OperationContext& op, bson::DocumentView let = {}, bson::CollatorPtr collator = nullptr);

// The same for a filter that may have $where.
ParseContext filter_context(const OperationContext& op, bson::DocumentView let = {}, bson::CollatorPtr collator = nullptr);

// Returns about how many bytes parsing makes of so many: each element becomes a node.
inline size_t parsed_bytes(size_t bytes) {
  constexpr size_t few = 4096, growth = 10;
  return bytes < few ? 0 : growth * bytes;
}

// Returns the compiler that this server was built with; nullptr: none.
const ExpressionCompiler* expression_compiler();

}  // namespace server::query
