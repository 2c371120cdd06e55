#include "bson/compare.h"
#include "server/query/expressions/operator_support.h"

namespace server::query {
namespace {

// A missing value sorts below null here, as in the aggregation language.
int order(const Frame& frame, const ValueView& a, const ValueView& b) {
  return bson::compare(a, b, frame.collator());
}

Value eq(Frame& frame, std::string_view, Arguments a) {
  return Value(order(frame, a[0], a[1]) == 0);
}
Value ne(Frame& frame, std::string_view, Arguments a) {
  return Value(order(frame, a[0], a[1]) != 0);
}
Value gt(Frame& frame, std::string_view, Arguments a) {
  return Value(order(frame, a[0], a[1]) > 0);
}
Value gte(Frame& frame, std::string_view, Arguments a) {
  return Value(order(frame, a[0], a[1]) >= 0);
}
Value lt(Frame& frame, std::string_view, Arguments a) {
  return Value(order(frame, a[0], a[1]) < 0);
}
Value lte(Frame& frame, std::string_view, Arguments a) {
  return Value(order(frame, a[0], a[1]) <= 0);
}
Value cmp(Frame& frame, std::string_view, Arguments a) {
  const int sign = order(frame, a[0], a[1]);
  return Value(sign < 0 ? -1 : sign > 0 ? 1 : 0);
}

constexpr OperatorEntry entries[] = {
    {"$eq", working_function_of<eq, 2>},   {"$ne", working_function_of<ne, 2>}, {"$gt", working_function_of<gt, 2>},
    {"$gte", working_function_of<gte, 2>}, {"$lt", working_function_of<lt, 2>}, {"$lte", working_function_of<lte, 2>},
    {"$cmp", working_function_of<cmp, 2>},
};

}  // namespace

std::span<const OperatorEntry> comparison_operators() {
  return entries;
}

}  // namespace server::query
