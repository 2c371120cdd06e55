// This file has $mod, $expr and $sampleRate.
#include <cmath>

#include "base/random.h"
#include "server/query/match/expr_comparison.h"
#include "server/query/match/parser.h"

namespace server::query::match {

namespace {

// Whole numbers beyond int64 have no useful remainder.
bool fits_int64(const bson::ValueView& value) {
  if (value.is_integer()) return true;
  const double number = value.to_double();
  return number >= -9223372036854775808.0 && number < 9223372036854775808.0;
}

class Mod : public PathNode {
 public:
  Mod(std::string_view path, int64_t divisor, int64_t remainder)
      : PathNode(Kind::mod, path, LeafArray::expand), divisor_(divisor), remainder_(remainder) {}

  bool matches_value(const bson::ValueView& value) const override {
    if (!value.is_number() || !fits_int64(value)) return false;
    // INT64_MIN % -1 traps.
    const int64_t remainder = divisor_ == -1 ? 0 : value.to_int64() % divisor_;
    return remainder == remainder_;
  }

  void append_operator(bson::Builder& out) const override {
    auto array = out.array("$mod");
    array.append(divisor_).append(remainder_);
  }

 private:
  const int64_t divisor_;
  const int64_t remainder_;
};

int64_t mod_operand(const bson::Element& element, const char* what) {
  if (!element.is_number()) bad_value(std::string("malformed mod, ") + what + " not a number");
  if (!std::isfinite(element.to_double())) {
    bad_value(std::string("malformed mod, ") + what +
              " value is invalid :: caused by :: Unable to coerce NaN/Inf to integral type");
  }
  if (!fits_int64(element)) {
    bad_value(std::string("malformed mod, ") + what +
              " value is invalid :: caused by :: Out of bounds coercing to integral value");
  }
  return element.to_int64();
}

NodePtr parse_mod(std::string_view path, const bson::Element& operand, bson::DocumentView, Parsing&) {
  if (!operand.is_array()) bad_value("malformed mod, needs to be an array");
  const bson::DocumentView pair = operand.as_document();
  const size_t count = pair.count();
  if (count < 2) bad_value("malformed mod, not enough elements");
  if (count > 2) bad_value("malformed mod, too many elements");
  const int64_t divisor = mod_operand(pair.find("0"), "divisor");
  const int64_t remainder = mod_operand(pair.find("1"), "remainder");
  if (divisor == 0) bad_value("divisor cannot be 0");
  return std::make_unique<Mod>(path, divisor, remainder);
}

class Expr : public Node {
 public:
  Expr(std::unique_ptr<CompiledExpression> expression, const bson::ValueView& specification)
      : Node(Kind::expr), expression_(std::move(expression)), specification_(specification) {}

  bool matches(bson::DocumentView document, Details*) const override { return expression_->evaluate(document).view().truthy(); }
  bool matches_value(const bson::ValueView&) const override { return false; }
  void append(bson::Builder& out) const override { append_operator(out); }
  void append_operator(bson::Builder& out) const override { out.append("$expr", specification_); }

 private:
  const std::unique_ptr<CompiledExpression> expression_;
  const bson::ValueView specification_;
};

NodePtr parse_expr(const bson::Element& operand, Parsing& parsing) {
  if (!parsing.context.expressions) throw base::OperationError(224, "$expr is not allowed in this context");
  check_top_level("$expr", parsing);
  auto expression = std::make_unique<Expr>(parsing.context.expressions->compile(operand, parsing.context), operand);
  NodePtr comparisons = parsing.context.planned ? comparisons_in(operand, parsing.context) : nullptr;
  if (!comparisons) return expression;
  std::vector<NodePtr> both;
  both.push_back(std::move(comparisons));  // they are quick to answer no
  both.push_back(std::move(expression));
  return all_of(std::move(both));
}

// Matches documents at random with the given rate: the same one may match now and not the next time.
class SampleRate : public Node {
 public:
  explicit SampleRate(double rate) : Node(Kind::expr), rate_(rate) {}

  bool matches(bson::DocumentView, Details*) const override {
    thread_local base::Random random(base::entropy64());
    return random.unit() < rate_;
  }
  bool matches_value(const bson::ValueView&) const override { return false; }
  void append(bson::Builder& out) const override { append_operator(out); }
  void append_operator(bson::Builder& out) const override { out.append("$sampleRate", rate_); }

 private:
  const double rate_;
};

NodePtr parse_sample_rate(const bson::Element& operand, Parsing& parsing) {
  check_top_level("$sampleRate", parsing);
  if (!operand.is_number()) bad_value("argument to $sampleRate must be a numeric type");
  const double rate = operand.to_double();
  if (!(rate >= 0 && rate <= 1)) bad_value("numeric argument to $sampleRate must be in [0, 1]");
  if (rate == 0 || rate == 1) return std::make_unique<AlwaysNode>(rate == 1);
  return std::make_unique<SampleRate>(rate);
}

constexpr PathOperatorRow path_operators[] = {{"$mod", parse_mod}};
constexpr TopOperatorRow top_operators[] = {{"$expr", parse_expr}, {"$sampleRate", parse_sample_rate}};

}  // namespace

Family evaluation_family() {
  return {path_operators, top_operators};
}

}  // namespace server::query::match
