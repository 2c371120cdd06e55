// {$meta: "textScore"} is how well the document fits the $text of its query.
#include "server/query/expressions/operator_support.h"

namespace server::query {
namespace {

class TextScore final : public Expression {
 public:
  explicit TextScore(std::shared_ptr<double> score) : score_(std::move(score)) {}

 protected:
  Value compute(Frame&) const override { return Value(*score_); }

 private:
  const std::shared_ptr<double> score_;
};

ExpressionPtr parse_meta(std::string_view, const ValueView& value, Scope& scope) {
  if (!value.is_string()) fail(17307, "$meta only supports string arguments");
  if (value.as_string() != "textScore") fail(17308, "Unsupported argument to $meta: " + std::string(value.as_string()));
  if (!scope.text_score()) fail(40218, "query requires text score metadata, but it is not available");
  return std::make_unique<TextScore>(scope.text_score());
}

constexpr OperatorEntry table[] = {{"$meta", parse_meta}};

}  // namespace

std::span<const OperatorEntry> meta_operators() {
  return table;
}

}  // namespace server::query
