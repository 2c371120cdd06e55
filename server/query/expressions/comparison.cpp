#include "bson/compare.h"
#include "server/query/expressions/operator_support.h"

namespace server::query {
namespace {

// A missing value sorts below null here, as in the aggregation language.
int order(const ValueView& a, const ValueView& b) {
  return bson::compare(a, b);
}

Value eq(std::string_view, Arguments a) {
  return Value(order(a[0], a[1]) == 0);
}
Value ne(std::string_view, Arguments a) {
  return Value(order(a[0], a[1]) != 0);
}
Value gt(std::string_view, Arguments a) {
  return Value(order(a[0], a[1]) > 0);
}
Value gte(std::string_view, Arguments a) {
  return Value(order(a[0], a[1]) >= 0);
}
Value lt(std::string_view, Arguments a) {
  return Value(order(a[0], a[1]) < 0);
}
Value lte(std::string_view, Arguments a) {
  return Value(order(a[0], a[1]) <= 0);
}
Value cmp(std::string_view, Arguments a) {
  const int sign = order(a[0], a[1]);
  return Value(sign < 0 ? -1 : sign > 0 ? 1 : 0);
}

constexpr OperatorEntry entries[] = {
    {"$eq", function_of<eq, 2>}, {"$ne", function_of<ne, 2>},   {"$gt", function_of<gt, 2>},   {"$gte", function_of<gte, 2>},
    {"$lt", function_of<lt, 2>}, {"$lte", function_of<lte, 2>}, {"$cmp", function_of<cmp, 2>},
};

}  // namespace

std::span<const OperatorEntry> comparison_operators() {
  return entries;
}

}  // namespace server::query
