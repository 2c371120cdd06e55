#include "server/query/stages/accumulated_field.h"

#include "server/core/text.h"
#include "server/query/expressions/percentile.h"
#include "server/query/sort_pattern.h"
#include "server/query/stages/pipeline.h"
#include "server/query/stages/support.h"

namespace server::query {

using bson::Element;
using bson::Value;
using bson::ValueView;

std::unique_ptr<Accumulator> AccumulatedField::make(Frame& frame) const {
  if (script) return script->make(frame);
  AccumulatorSettings settings{.percentiles = percentiles, .collator = frame.collator(), .allowance = frame.allowance()};
  if (n) {
    settings.n = n_argument(n->evaluate(frame));
  }
  return make_accumulator(accumulator, settings);
}

AccumulatedField counting_field(std::string name) {
  return {std::move(name), "$sum", make_constant(Value(1)), nullptr, {}};
}

namespace {

// Joins a document's value with its sort key.
class OrderedInput final : public Expression {
 public:
  OrderedInput(ExpressionPtr output, SortPattern order) : output_(std::move(output)), order_(std::move(order)) {}
  Value compute(Frame& frame) const override {
    return ordered_input(order_.key(frame.root, frame.allowance()), output_->evaluate(frame));
  }

 private:
  const ExpressionPtr output_;
  const SortPattern order_;
};

// Parses {$topN: {n, sortBy, output}}.
void parse_ordered(AccumulatedField& field, AccumulatorForm form, const Element& accumulator, PipelineContext& context) {
  if (!accumulator.is_object())
    refuse(5788001, "specification must be an object; found " + field.accumulator + " :" + type_of(accumulator));
  ExpressionPtr output;
  Element order;
  for (const Element& argument : accumulator.as_document()) {
    if (argument.name == "n" && form == AccumulatorForm::ordered_n) {
      field.n = parse_expression(argument, context.scope);
    } else if (argument.name == "output") {
      output = parse_expression(argument, context.scope);
    } else if (argument.name == "sortBy") {
      if (!argument.is_object())
        refuse(5788604, "expected 'sortBy' to already be an object in the arguments to " + field.accumulator);
      order = argument;
    } else {
      refuse(5788002, "Unknown argument to " + field.accumulator + " '" + std::string(argument.name) + "'");
    }
  }
  if (form == AccumulatorForm::ordered_n && !field.n) refuse(5788003, "Missing value for 'n'");
  if (!output) refuse(5788004, "Missing value for 'output'");
  if (!order.exists()) refuse(5788005, "Missing value for 'sortBy'");
  field.input =
      std::make_shared<OrderedInput>(std::move(output), SortPattern::parse(order.as_document(), context.scope.collator()));
}

}  // namespace

AccumulatedField parse_accumulated_field(const Element& field, PipelineContext& context) {
  if (field.name.find('.') != std::string_view::npos) {
    refuse(40235, "The field name '" + std::string(field.name) + "' cannot contain '.'");
  }
  if (!field.name.empty() && field.name[0] == '$') {
    refuse(40236, "The field name '" + std::string(field.name) + "' cannot be an operator name");
  }
  if (!field.is_object() || field.as_document().empty()) {
    refuse(40234, "The field '" + std::string(field.name) + "' must be an accumulator object");
  }
  if (field.as_document().count() != 1) {
    refuse(40238, "The field '" + std::string(field.name) + "' must specify one accumulator");
  }
  const Element accumulator = field.as_document().first();
  AccumulatedField out{std::string(field.name), std::string(accumulator.name), nullptr, nullptr, {}};
  if (out.accumulator == "$accumulator") {
    auto parts = parse_script_accumulation(accumulator, context);
    out.script = std::move(parts.accumulation);
    out.input = std::move(parts.input);
    return out;
  }
  const auto form = accumulator_form(out.accumulator);
  if (!form) refuse(15952, "unknown group operator '" + out.accumulator + "'");
  if (accumulator.is_array() && out.accumulator != "$push" && out.accumulator != "$addToSet" &&
      accumulator.as_document().count() != 1) {
    refuse(40237, "The " + out.accumulator + " accumulator is a unary operator");
  }
  if (out.accumulator == "$count") {
    if (!accumulator.is_object() || !accumulator.as_document().empty()) {
      refuse(base::ErrorCode::type_mismatch, "$count takes no arguments, i.e. $count:{}");
    }
    out.input = make_constant(Value(true));
  } else if (*form == AccumulatorForm::ordered || *form == AccumulatorForm::ordered_n) {
    parse_ordered(out, *form, accumulator, context);
  } else if (*form == AccumulatorForm::percentiles) {
    PercentileCall call = parse_percentile(out.accumulator, accumulator, context.scope);
    out.input = std::move(call.input);
    out.percentiles = std::move(call.settings.percentiles);
  } else if (*form == AccumulatorForm::n) {
    if (!accumulator.is_object())
      refuse(n_not_object_code(out.accumulator), "specification must be an object; found " + show_element(accumulator));
    for (const Element& argument : accumulator.as_document()) {
      if (argument.name == "n") {
        out.n = parse_expression(argument, context.scope);
      } else if (argument.name == "input") {
        out.input = parse_expression(argument, context.scope);
      } else {
        refuse(5787901, "Unknown argument for 'n' operator: " + std::string(argument.name));
      }
    }
    if (!out.n) refuse(5787906, "Missing value for 'n'");
    if (!out.input) refuse(5787907, "Missing value for 'input'");
  } else {
    const ValueView argument = accumulator.is_array() && accumulator.as_document().count() == 1 && out.accumulator != "$push" &&
                                       out.accumulator != "$addToSet"
                                   ? static_cast<ValueView>(accumulator.as_document().first())
                                   : static_cast<ValueView>(accumulator);
    out.input = parse_expression(argument, context.scope);
  }
  return out;
}

}  // namespace server::query
