#include "server/query/expressions/operator_support.h"

namespace server::query {
namespace {

// $and and $or stop at the first argument that decides.
template <bool deciding>
ExpressionPtr parse_and_or(std::string_view, const ValueView& value, Scope& scope) {
  return evaluated([arguments = parse_arguments(value, scope)](Frame& frame) {
    const size_t held = frame.held();
    for (const ExpressionPtr& argument : arguments) {
      frame.work();
      frame.keep(held, 0);
      Value scratch;
      if (argument->view(frame, scratch).truthy() == deciding) return Value(deciding);
    }
    return Value(!deciding);
  });
}

Value not_(std::string_view, Arguments a) {
  return Value(!a[0].truthy());
}

Value all_elements_true(std::string_view, Arguments a) {
  if (!a[0].is_array()) fail(17040, "$allElementsTrue's argument must be an array, but is " + named(a[0]));
  for (const bson::Element& element : a[0].as_document()) {
    if (!element.truthy()) return Value(false);
  }
  return Value(true);
}

Value any_element_true(std::string_view, Arguments a) {
  if (!a[0].is_array()) fail(17041, "$anyElementTrue's argument must be an array, but is " + named(a[0]));
  for (const bson::Element& element : a[0].as_document()) {
    if (element.truthy()) return Value(true);
  }
  return Value(false);
}

constexpr OperatorEntry entries[] = {
    {"$and", parse_and_or<false>},
    {"$or", parse_and_or<true>},
    {"$not", function_of<not_, 1>},
    {"$allElementsTrue", function_of<all_elements_true, 1>},
    {"$anyElementTrue", function_of<any_element_true, 1>},
};

}  // namespace

std::span<const OperatorEntry> boolean_operators() {
  return entries;
}

}  // namespace server::query
