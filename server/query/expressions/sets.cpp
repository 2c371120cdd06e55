#include <algorithm>
#include <set>

#include "bson/builder.h"
#include "bson/compare.h"
#include "server/query/expressions/operator_support.h"

namespace server::query {
namespace {

// Comparisons are the work of a set, and long values are more of it.
struct Less {
  Frame* frame;
  bool operator()(const ValueView& a, const ValueView& b) const {
    frame->work_on(std::min(a.bytes().size(), b.bytes().size()));
    return bson::compare(a, b, frame->collator()) < 0;
  }
};
using Set = std::set<ValueView, Less>;

constexpr size_t node_bytes = 64;  // of the tree

Set set_of(Frame& frame, const ValueView& array) {
  Set out(Less{&frame});
  for (const bson::Element& element : array.as_document()) {
    frame.work();
    if (out.insert(element).second) frame.hold(node_bytes);
  }
  return out;
}

Value array_of(Frame& frame, const Set& set) {
  Growth growth = frame.growth();
  bson::ArrayBuilder out;
  for (const ValueView& value : set) {
    frame.work();
    out.append(value);
    growth.reach(out.size());
  }
  return out.done_value();
}

Value set_union(Frame& frame, std::string_view, Arguments a) {
  Set all(Less{&frame});
  for (const ValueView& argument : a) {
    if (argument.is_nullish()) return Value::null();
    if (!argument.is_array())
      fail(17043, "All operands of $setUnion must be arrays. One argument is of type: " + named(argument));
    all.merge(set_of(frame, argument));
  }
  return array_of(frame, all);
}

Value set_intersection(Frame& frame, std::string_view, Arguments a) {
  Set common(Less{&frame});
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].is_nullish()) return Value::null();
    if (!a[i].is_array()) {
      fail(17047, "All operands of $setIntersection must be arrays. One argument is of type: " + named(a[i]));
    }
    if (i == 0) {
      common = set_of(frame, a[i]);
    } else if (!common.empty()) {
      const Set here = set_of(frame, a[i]);
      std::erase_if(common, [&](const ValueView& value) { return !here.count(value); });
    }
  }
  return array_of(frame, common);
}

Value set_difference(Frame& frame, std::string_view, Arguments a) {
  if (any_nullish(a)) return Value::null();
  if (!a[0].is_array()) {
    fail(17048, "both operands of $setDifference must be arrays. First argument is of type: " + named(a[0]));
  }
  if (!a[1].is_array()) {
    fail(17049, "both operands of $setDifference must be arrays. Second argument is of type: " + named(a[1]));
  }
  Set gone = set_of(frame, a[1]);
  Growth growth = frame.growth();
  bson::ArrayBuilder out;
  for (const bson::Element& element : a[0].as_document()) {
    frame.work();
    if (!gone.insert(element).second) continue;
    out.append(static_cast<const ValueView&>(element));
    growth.reach(out.size());
  }
  return out.done_value();
}

bool same(Frame& frame, const Set& a, const Set& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [&](const ValueView& x, const ValueView& y) {
           frame.work_on(std::min(x.bytes().size(), y.bytes().size()));
           return bson::equal(x, y, frame.collator());
         });
}

std::string no_array_in_equals(size_t i, const ValueView& argument) {
  return "All operands of $setEquals must be arrays. " + std::to_string(i + 1) + "-th argument is of type: " + named(argument);
}

Value set_equals(Frame& frame, std::string_view, Arguments a) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (!a[i].is_array()) fail(17044, no_array_in_equals(i, a[i]));
  }
  const Set first = set_of(frame, a[0]);
  const size_t held = frame.held();
  for (size_t i = 1; i < a.size(); ++i) {
    if (!same(frame, first, set_of(frame, a[i]))) return Value(false);
    frame.keep(held, 0);
  }
  return Value(true);
}

// A constant that is no array is refused before any document is read, with a code of its own.
ExpressionPtr parse_set_equals(std::string_view name, const ValueView& value, Scope& scope) {
  auto arguments = parse_arguments(value, scope);
  if (arguments.size() < 2) fail(17045, "$setEquals needs at least two arguments had: " + std::to_string(arguments.size()));
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Value* constant = arguments[i]->constant();
    if (!constant || constant->type() == Type::array) continue;
    scope.note_failure({static_cast<base::ErrorCode>(5887502), no_array_in_equals(i, *constant)});
    break;
  }
  return make_function(name, std::move(arguments), set_equals, false);
}

Value set_is_subset(Frame& frame, std::string_view, Arguments a) {
  if (!a[0].is_array()) fail(17046, "both operands of $setIsSubset must be arrays. First argument is of type: " + named(a[0]));
  if (!a[1].is_array()) fail(17042, "both operands of $setIsSubset must be arrays. Second argument is of type: " + named(a[1]));
  const Set whole = set_of(frame, a[1]);
  for (const bson::Element& element : a[0].as_document()) {
    frame.work();
    if (!whole.count(element)) return Value(false);
  }
  return Value(true);
}

constexpr OperatorEntry entries[] = {
    {"$setUnion", working_function_of<set_union, 0, -1>},
    {"$setIntersection", working_function_of<set_intersection, 0, -1>},
    {"$setDifference", working_function_of<set_difference, 2>},
    {"$setEquals", parse_set_equals},
    {"$setIsSubset", working_function_of<set_is_subset, 2>},
};

}  // namespace

std::span<const OperatorEntry> set_operators() {
  return entries;
}

}  // namespace server::query
