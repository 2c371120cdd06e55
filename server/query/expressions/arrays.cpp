#include <algorithm>
#include <cmath>

#include "bson/arithmetic.h"
#include "bson/builder.h"
#include "bson/compare.h"
#include "bson/path.h"
#include "server/core/text.h"
#include "server/query/expressions/accumulating.h"
#include "server/query/expressions/operator_support.h"

namespace server::query {
namespace {

std::vector<ValueView> elements_of(Frame& frame, const ValueView& array) {
  const size_t count = array.as_document().count();
  frame.work(count);
  frame.hold(count * sizeof(ValueView));
  std::vector<ValueView> elements;
  elements.reserve(count);
  for (const bson::Element& element : array.as_document()) elements.push_back(element);
  return elements;
}

template <class Iterator>
Value array_of(Frame& frame, Iterator from, Iterator to) {
  Growth growth = frame.growth();
  bson::ArrayBuilder out;
  for (; from != to; ++from) {
    frame.work();
    out.append(*from);
    growth.reach(out.size());
  }
  return out.done_value();
}

// Compares two elements for a sort. Long ones are more work.
int order(Frame& frame, const ValueView& a, const ValueView& b) {
  frame.work_on(std::min(a.bytes().size(), b.bytes().size()));
  return bson::compare(a, b, frame.collator());
}

Value element_at(const ValueView& array, int64_t index) {
  const bson::DocumentView elements = array.as_document();
  if (index < 0) index += static_cast<int64_t>(elements.count());
  if (index < 0) return Value();
  for (const bson::Element& element : elements) {
    if (index-- == 0) return Value(element);
  }
  return Value();
}

Value array_elem_at(std::string_view, Arguments a) {
  if (any_nullish(a)) return Value::null();
  if (!a[0].is_array()) fail(28689, "$arrayElemAt's first argument must be an array, but is " + named(a[0]));
  if (!a[1].is_number()) fail(28690, "$arrayElemAt's second argument must be a numeric value, but is " + named(a[1]));
  const auto index = whole_number(a[1]);
  if (!index) fail(28691, "$arrayElemAt's second argument must be representable as a 32-bit integer: " + value_text(a[1]));
  return element_at(a[0], *index);
}

template <int index>
Value end_of(std::string_view name, Arguments a) {
  if (a[0].is_nullish()) return Value::null();
  if (!a[0].is_array()) fail(28689, std::string(name) + "'s argument must be an array, but is " + named(a[0]));
  return element_at(a[0], index);
}

Value size(std::string_view, Arguments a) {
  if (!a[0].is_array()) fail(17124, "The argument to $size must be an array, but was of type: " + named(a[0]));
  return Value(static_cast<int32_t>(a[0].as_document().count()));
}

Value is_array(std::string_view, Arguments a) {
  return Value(a[0].is_array());
}

Value in(Frame& frame, std::string_view, Arguments a) {
  if (!a[1].is_array()) fail(40081, "$in requires an array as a second argument, found: " + named(a[1]));
  for (const bson::Element& element : a[1].as_document()) {
    if (bson::equal(element, a[0], frame.collator())) return Value(true);
  }
  return Value(false);
}

Value concat_arrays(Frame& frame, std::string_view, Arguments a) {
  Growth growth = frame.growth();
  bson::ArrayBuilder out;
  for (const ValueView& argument : a) {
    if (argument.is_nullish()) return Value::null();
    if (!argument.is_array()) fail(28664, "$concatArrays only supports arrays, not " + named(argument));
    for (const bson::Element& element : argument.as_document()) {
      frame.work();
      out.append(static_cast<const ValueView&>(element));
      growth.reach(out.size());
    }
  }
  return out.done_value();
}

Value slice(Frame& frame, std::string_view, Arguments a) {
  if (any_nullish(a)) return Value::null();
  if (!a[0].is_array()) fail(28724, "First argument to $slice must be an array, but is of type: " + named(a[0]));
  const auto second = whole_number(a[1]);
  if (!a[1].is_number()) fail(28725, "Second argument to $slice must be a numeric value, but is of type: " + named(a[1]));
  if (!second) fail(28726, "Second argument to $slice can't be represented as a 32-bit integer: " + value_text(a[1]));
  const auto elements = elements_of(frame, a[0]);
  const auto count = static_cast<int64_t>(elements.size());
  int64_t from, length;
  if (a.size() == 2) {
    from = *second >= 0 ? 0 : std::max<int64_t>(0, count + *second);
    length = *second >= 0 ? *second : count;
  } else {
    const auto third = whole_number(a[2]);
    if (!a[2].is_number()) fail(28727, "Third argument to $slice must be numeric, but is of type: " + named(a[2]));
    if (!third) fail(28728, "Third argument to $slice can't be represented as a 32-bit integer: " + value_text(a[2]));
    if (*third <= 0) fail(28729, "Third argument to $slice must be positive: " + std::to_string(*third));
    from = *second >= 0 ? std::min(*second, count) : std::max<int64_t>(0, count + *second);
    length = *third;
  }
  const int64_t to = std::min(count, from + length);
  return array_of(frame, elements.begin() + from, elements.begin() + std::max(from, to));
}

Value reverse_array(Frame& frame, std::string_view, Arguments a) {
  if (a[0].is_nullish()) return Value::null();
  if (!a[0].is_array()) fail(34435, "The argument to $reverseArray must be an array, but was of type: " + named(a[0]));
  const auto elements = elements_of(frame, a[0]);
  return array_of(frame, elements.rbegin(), elements.rend());
}

Value range(Frame& frame, std::string_view, Arguments a) {
  static constexpr const char* whats[] = {"starting", "ending", "step"};
  static constexpr int not_number[] = {34443, 34445, 34447};
  static constexpr int not_whole[] = {34444, 34446, 34448};
  int64_t limits[] = {0, 0, 1};
  for (size_t i = 0; i < a.size(); ++i) {
    if (!a[i].is_number()) {
      // MongoDB has no space before the type of the step.
      fail(not_number[i], std::string("$range requires a numeric ") + whats[i] +
                              " value, found value of type:" + (i < 2 ? " " : "") + named(a[i]));
    }
    const auto whole = whole_number(a[i]);
    if (!whole || *whole < INT32_MIN || *whole > INT32_MAX) {
      fail(not_whole[i], std::string("$range requires a") + (i == 1 ? "n " : " ") + whats[i] +
                             " value that can be represented as a 32-bit integer, found value: " + value_text(a[i]));
    }
    limits[i] = *whole;
  }
  const auto [from, to, step] = std::tuple(limits[0], limits[1], limits[2]);
  if (step == 0) fail(34449, "$range requires a non-zero step value");
  if ((to - from) / step > 6'000'000) {
    fail(static_cast<int>(base::ErrorCode::exceeded_memory_limit), "$range would use too much memory and cannot spill to disk");
  }
  Growth growth = frame.growth();
  bson::ArrayBuilder out;
  for (int64_t at = from; step > 0 ? at < to : at > to; at += step) {
    frame.work();
    out.append(static_cast<int32_t>(at));
    growth.reach(out.size());
  }
  return out.done_value();
}

Value index_of_array(Frame& frame, std::string_view, Arguments a) {
  if (a[0].is_nullish()) return Value::null();
  if (!a[0].is_array()) fail(40090, "$indexOfArray requires an array as a first argument, found: " + named(a[0]));
  int64_t limits[] = {0, INT32_MAX};
  for (size_t i = 2; i < a.size(); ++i) {
    limits[i - 2] = search_limit("$indexOfArray", i == 2 ? "starting index" : "ending index", a[i]);
  }
  int64_t at = 0;
  for (const bson::Element& element : a[0].as_document()) {
    if (at >= limits[1]) break;
    if (at >= limits[0] && bson::equal(element, a[1], frame.collator())) return Value(static_cast<int32_t>(at));
    ++at;
  }
  return Value(int32_t{-1});
}

ExpressionPtr parse_zip(std::string_view, const ValueView& value, Scope& scope) {
  if (value.type() != Type::object) fail(34460, "$zip only supports an object as an argument, found " + named(value));
  ExpressionPtr inputs, defaults;
  size_t arrays = 0, fillers = 0;
  bool longest = false;
  for (const bson::Element& field : value.as_document()) {
    if (field.name == "inputs") {
      if (!field.is_array()) fail(34461, "inputs must be an array of expressions, found " + named(field));
      inputs = parse_expression(field, scope);
      arrays = field.as_document().count();
    } else if (field.name == "defaults") {
      if (!field.is_array()) fail(34462, "defaults must be an array of expressions, found " + named(field));
      defaults = parse_expression(field, scope);
      fillers = field.as_document().count();
    } else if (field.name == "useLongestLength") {
      if (field.type() != Type::boolean) fail(34463, "useLongestLength must be a bool, found " + named(field));
      longest = field.as_bool();
    } else {
      fail(34464, "$zip found an unknown argument: " + std::string(field.name));
    }
  }
  if (arrays == 0) fail(34465, "$zip requires at least one input array");
  if (fillers > 0 && !longest) fail(34466, "cannot specify defaults unless useLongestLength is true");
  if (fillers > 0 && fillers != arrays) fail(34467, "defaults and inputs must have the same length");
  return evaluated([inputs = std::move(inputs), defaults = std::move(defaults), longest](Frame& frame) {
    const Value arrays = inputs->evaluate(frame);
    std::vector<std::vector<ValueView>> columns;
    for (const bson::Element& array : arrays.view().as_document()) {
      if (array.is_nullish()) return Value::null();
      if (!array.is_array()) fail(34468, "$zip found a non-array expression in input: " + value_text(array));
      columns.push_back(elements_of(frame, array));
    }
    const Value filler = defaults ? defaults->evaluate(frame) : Value();
    const auto fill = defaults ? elements_of(frame, filler) : std::vector<ValueView>();
    size_t rows = longest ? 0 : SIZE_MAX;
    for (const auto& column : columns) rows = longest ? std::max(rows, column.size()) : std::min(rows, column.size());
    Growth growth = frame.growth();
    bson::ArrayBuilder out;
    for (size_t row = 0; row < rows && !columns.empty(); ++row) {
      frame.work(columns.size());
      growth.reach(out.size());
      bson::ArrayBuilder tuple = out.array();
      for (size_t i = 0; i < columns.size(); ++i) {
        if (row < columns[i].size()) {
          tuple.append(columns[i][row]);
        } else if (!fill.empty()) {
          tuple.append(fill[i]);
        } else {
          tuple.append_null();
        }
      }
    }
    return out.done_value();
  });
}

// $sortArray sorts by this: the elements, or their fields.
struct ArrayOrder {
  struct Key {
    std::string path;  // empty: the element itself
    int sign;
  };
  std::vector<Key> keys;

  // Arrays are compared as a whole, unlike in a sort of documents.
  bool less(Frame& frame, const ValueView& a, const ValueView& b) const {
    for (const Key& key : keys) {
      const int compared = order(frame, part(a, key.path), part(b, key.path));
      if (compared != 0) return compared * key.sign < 0;
    }
    return false;
  }

 private:
  static ValueView part(const ValueView& element, const std::string& path) {
    static const Value null = Value::null();
    if (path.empty()) return element;
    const ValueView found = element.is_object() ? bson::value_at(element.as_document(), path) : ValueView();
    return found.exists() ? found : null.view();
  }
};

bool is_direction(const ValueView& value) {
  return value.is_number() && std::abs(value.to_double()) == 1;
}

ArrayOrder parse_array_order(const ValueView& by) {
  if (by.is_number()) {
    if (!is_direction(by)) fail(2942506, "The $sort element value must be either 1 or -1");
    return {{{"", by.to_double() < 0 ? -1 : 1}}};
  }
  if (!by.is_object()) {
    fail(2942507, "The $sort is invalid: use 1/-1 to sort the whole element, or {field:1/-1} to sort embedded fields");
  }
  constexpr int bad_pattern = 2942505;
  if (by.as_document().empty()) fail(bad_pattern, "BadValue: The $sort pattern is empty when it should be a set of fields.");
  ArrayOrder order;
  for (const bson::Element& key : by.as_document()) {
    if (!is_direction(key)) fail(bad_pattern, "BadValue: The $sort element value must be either 1 or -1");
    if (key.name.empty()) fail(bad_pattern, "BadValue: The $sort field cannot be empty");
    for (const std::string_view part : bson::split_path(key.name)) {
      if (part.empty()) {
        fail(bad_pattern, "BadValue: The $sort field is a dotted field but has an empty part: " + std::string(key.name));
      }
    }
    order.keys.push_back({std::string(key.name), key.to_double() < 0 ? -1 : 1});
  }
  return order;
}

ExpressionPtr parse_sort_array(std::string_view, const ValueView& value, Scope& scope) {
  if (value.type() != Type::object) fail(2942500, "$sortArray requires an object as an argument, found: " + named(value));
  ExpressionPtr input;
  std::optional<ArrayOrder> order;
  for (const bson::Element& field : value.as_document()) {
    if (field.name == "input") {
      input = parse_expression(field, scope);
    } else if (field.name == "sortBy") {
      order = parse_array_order(field);
    } else {
      fail(2942501, "$sortArray found an unknown argument: " + std::string(field.name));
    }
  }
  if (!input) fail(2942502, "$sortArray requires 'input' to be specified");
  if (!order) fail(2942503, "$sortArray requires 'sortBy' to be specified");
  return evaluated([input = std::move(input), by = std::move(*order)](Frame& frame) {
    const Value array = input->evaluate(frame);
    if (array.view().is_nullish()) return Value::null();
    if (array.type() != Type::array) {
      fail(2942504, "The input argument to $sortArray must be an array, but was of type: " + named(array));
    }
    auto elements = elements_of(frame, array);
    std::stable_sort(elements.begin(), elements.end(),
                     [&](const ValueView& x, const ValueView& y) { return by.less(frame, x, y); });
    return array_of(frame, elements.begin(), elements.end());
  });
}

// Outside of $group, $sum, $avg, $min, $max, … work on their arguments, or on the elements of the one array that they get.
ExpressionPtr parse_accumulation(std::string_view name, const ValueView& value, Scope& scope) {
  auto arguments = parse_arguments(value, scope);
  const bool single = arguments.size() == 1;
  return evaluated([op = std::string(name), arguments = std::move(arguments), single](Frame& frame) {
    auto accumulator = make_accumulator(op, {.percentiles = {}, .collator = frame.collator(), .allowance = frame.allowance()});
    const size_t before = frame.held();
    for (const ExpressionPtr& argument : arguments) {
      const size_t counted = frame.held() - before;
      const Value given = argument->evaluate(frame);
      const size_t held = frame.held() - counted;
      if (single && given.type() == Type::array) {
        for (const bson::Element& element : given.view().as_document()) add_to(*accumulator, element, frame, held);
      } else {
        add_to(*accumulator, given, frame, held);
      }
      frame.keep(before, accumulator->bytes());
    }
    return result_of(frame, *accumulator);
  });
}

ExpressionPtr parse_n(std::string_view name, const ValueView& value, Scope& scope) {
  const std::string op(name);
  if (value.type() != Type::object) {
    fail(n_not_object_code(name), "specification must be an object; found " + show_element(bson::Element(name, value)));
  }
  Parameter parameters[] = {{"n", true, nullptr, 5787906}, {"input", true, nullptr, 5787907}};
  parse_parameters(name, value, scope, parameters, 0, {5787901, "Unknown argument for 'n' operator: {}"},
                   {0, "Missing value for '{}'"});
  return evaluated([op, n = std::move(parameters[0].expression), input = std::move(parameters[1].expression)](Frame& frame) {
    const Value array = input->evaluate(frame);
    if (array.type() != Type::array) fail(5788200, "Input must be an array");
    const int64_t count = n_argument(n->evaluate(frame));
    auto accumulator =
        make_accumulator(op, {.n = count, .percentiles = {}, .collator = frame.collator(), .allowance = frame.allowance()});
    const size_t held = frame.held();
    for (const bson::Element& element : array.view().as_document()) add_to(*accumulator, element, frame, held);
    return result_of(frame, *accumulator);
  });
}

constexpr OperatorEntry entries[] = {
    {"$arrayElemAt", function_of<array_elem_at, 2>},
    {"$first", function_of<end_of<0>, 1>},
    {"$last", function_of<end_of<-1>, 1>},
    {"$size", function_of<size, 1>},
    {"$isArray", function_of<is_array, 1>},
    {"$in", working_function_of<in, 2>},
    {"$concatArrays", working_function_of<concat_arrays, 0, -1>},
    {"$slice", working_function_of<slice, 2, 3>},
    {"$reverseArray", working_function_of<reverse_array, 1>},
    {"$range", working_function_of<range, 2, 3>},
    {"$indexOfArray", working_function_of<index_of_array, 2, 4>},
    {"$zip", parse_zip},
    {"$sortArray", parse_sort_array},
    {"$sum", parse_accumulation},
    {"$avg", parse_accumulation},
    {"$min", parse_accumulation},
    {"$max", parse_accumulation},
    {"$stdDevPop", parse_accumulation},
    {"$stdDevSamp", parse_accumulation},
    {"$firstN", parse_n},
    {"$lastN", parse_n},
    {"$minN", parse_n},
    {"$maxN", parse_n},
};

}  // namespace

std::span<const OperatorEntry> array_operators() {
  return entries;
}

}  // namespace server::query
