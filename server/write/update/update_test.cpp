#include "server/write/update/update.h"

#include <rapidcheck.h>
#include <catch2/catch.hpp>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/testing.h"
#include "bson/arithmetic.h"
#include "bson/builder.h"
#include "bson/collation.h"
#include "bson/compare.h"
#include "bson/json.h"
#include "bson/path.h"
#include "server/write/update/update_path.h"

namespace server::write {
namespace {

using bson::DocumentView;
using bson::json;

bool satisfies(const bson::ValueView& value, const bson::ValueView& wanted) {
  const bool operators = wanted.is_object() && wanted.as_document().first().name.starts_with("$");
  if (!operators) return bson::equal(value, wanted);
  for (const auto& condition : wanted.as_document()) {
    const int order = bson::compare(value, condition);
    if (condition.name == "$gt" && order <= 0) return false;
    if (condition.name == "$gte" && order < 0) return false;
    if (condition.name == "$lt" && order >= 0) return false;
  }
  return true;
}

// This is the smallest query language that these tests need.
Predicate compile_for_test(DocumentView filter) {
  return [filter = bson::Document(filter)](DocumentView document) {
    for (const auto& field : filter) {
      if (!satisfies(bson::value_at(document, field.name), field)) return false;
    }
    return true;
  };
}

struct Given {
  const char* before;
  const char* update;
  const char* after;  // "=": unchanged
  const char* array_filters = "[]";
  std::optional<size_t> matched = std::nullopt;
  const char* collation = "{locale: 'simple'}";
};

std::optional<bson::Document> updated(const Given& given) {
  const bson::Value specification = bson::value_from_json(given.update).or_throw();
  const bson::Value filters = bson::value_from_json(given.array_filters).or_throw();
  UpdateOptions options;
  options.array_filters = filters.view().as_document();
  options.has_array_filters = !options.array_filters.empty();
  options.collator = bson::collator_of(json(given.collation));
  const auto update = Update::parse(specification, options, compile_for_test);
  const bson::Document before = json(given.before);
  Application application;
  application.document = before;
  application.matched = given.matched;
  application.now_ms = 1000;
  application.timestamp = {7, 1};
  return update->apply(application);
}

void check_table(const std::vector<Given>& table) {
  for (const Given& given : table) {
    INFO(given.before << "  " << given.update);
    const auto after = updated(given);
    if (std::string_view(given.after) == "=") {
      CHECK(!after);
      continue;
    }
    REQUIRE(after);
    CHECK(bson::to_json(*after, bson::JsonMode::canonical) == bson::to_json(json(given.after), bson::JsonMode::canonical));
  }
}

struct Refused {
  const char* before;
  const char* update;
  int code;
  const char* message;
  const char* array_filters = "[]";
  std::optional<size_t> matched = std::nullopt;
};

void check_refused(const std::vector<Refused>& table) {
  for (const Refused& refused : table) {
    INFO(refused.before << "  " << refused.update);
    try {
      updated({refused.before, refused.update, "", refused.array_filters, refused.matched});
      FAIL("was not refused");
    } catch (const base::OperationError& error) {
      CHECK(static_cast<int>(error.code()) == refused.code);
      CHECK(std::string(error.what()) == refused.message);
    }
  }
}

TEST_CASE("operators compare strings by the collation") {
  const char* const en = "{locale: 'en', strength: 2}";
  const auto by = [&](const char* before, const char* update, const char* after) {
    return Given{before, update, after, "[]", std::nullopt, en};
  };
  check_table({
      by("{_id: 1, t: ['a']}", "{$addToSet: {t: 'A'}}", "="),
      by("{_id: 1, t: ['a']}", "{$addToSet: {t: {$each: ['A', 'b', 'B']}}}", "{_id: 1, t: ['a', 'b']}"),
      by("{_id: 1, t: ['a', 'B']}", "{$pull: {t: 'A'}}", "{_id: 1, t: ['B']}"),
      by("{_id: 1, t: ['a', 'B', 'c']}", "{$pullAll: {t: ['A', 'b']}}", "{_id: 1, t: ['c']}"),
      by("{_id: 1, t: ['C']}", "{$push: {t: {$each: ['b', 'A'], $sort: 1}}}", "{_id: 1, t: ['A', 'b', 'C']}"),
      by("{_id: 1, t: [{x: 'C'}]}", "{$push: {t: {$each: [{x: 'b'}], $sort: {x: 1}}}}", "{_id: 1, t: [{x: 'b'}, {x: 'C'}]}"),
      by("{_id: 1, s: 'm'}", "{$max: {s: 'M'}}", "="),
      by("{_id: 1, s: 'm'}", "{$max: {s: 'N'}}", "{_id: 1, s: 'N'}"),
      by("{_id: 1, s: 'm'}", "{$min: {s: 'L'}}", "{_id: 1, s: 'L'}"),
      by("{_id: 1, s: 'm'}", "{$min: {s: 'N'}}", "="),
      {"{_id: 1, t: ['a']}", "{$addToSet: {t: 'A'}}", "{_id: 1, t: ['a', 'A']}"},
      {"{_id: 1, t: ['C']}", "{$push: {t: {$each: ['b'], $sort: 1}}}", "{_id: 1, t: ['C', 'b']}"},
  });
}

TEST_CASE("fields are set, and levels made on the way") {
  check_table({
      {"{_id: 1}", "{$set: {a: 1}}", "{_id: 1, a: 1}"},
      {"{_id: 1, a: 1}", "{$set: {a: 1}}", "="},
      {"{_id: 1, a: 1}", "{$set: {a: {$numberLong: '1'}}}", "{_id: 1, a: {$numberLong: '1'}}"},
      {"{_id: 1}", "{$set: {'a.b.c': 1}}", "{_id: 1, a: {b: {c: 1}}}"},
      {"{_id: 1, a: {b: 1}}", "{$set: {'a.c': 2}}", "{_id: 1, a: {b: 1, c: 2}}"},
      {"{_id: 1}", "{$set: {'a.0': 1}}", "{_id: 1, a: {'0': 1}}"},
      {"{_id: 1, a: [1, 2]}", "{$set: {'a.1': 5}}", "{_id: 1, a: [1, 5]}"},
      {"{_id: 1, a: [1]}", "{$set: {'a.3': 5}}", "{_id: 1, a: [1, null, null, 5]}"},
      {"{_id: 1, a: [{b: 1}]}", "{$set: {'a.0.c': 5}}", "{_id: 1, a: [{b: 1, c: 5}]}"},
      {"{_id: 1}", "{$set: {}}", "="},
      {"{_id: 1}", "{$set: {_id: 1}}", "="},
      {"{_id: 1, x: 1}", "{$unset: {x: ''}}", "{_id: 1}"},
      {"{_id: 1, x: 1}", "{$unset: {y: ''}}", "="},
      {"{_id: 1, x: 1}", "{$unset: {'x.y': ''}}", "="},
      {"{_id: 1, x: [1, 2, 3]}", "{$unset: {'x.1': 1}}", "{_id: 1, x: [1, null, 3]}"},
      {"{_id: 1}", "{$setOnInsert: {x: 1}}", "="},
  });
}

TEST_CASE("a number in a path is an element's position in an array, however it is written, and a name in an object") {
  check_table({
      {"{_id: 1, x: [true, 7]}", "{$set: {'x.0000': false, 'x.0000006': 'k'}}",
       "{_id: 1, x: [false, 7, null, null, null, null, 'k']}"},
      {"{_id: 1, x: [1, 2]}", "{$unset: {'x.00': 1}}", "{_id: 1, x: [null, 2]}"},
      {"{_id: 1, x: [1, 2]}", "{$inc: {'x.01': 5}}", "{_id: 1, x: [1, 7]}"},
      {"{_id: 1, x: [1, 2]}", "{$min: {'x.00': 0}, $max: {'x.001': 9}}", "{_id: 1, x: [0, 9]}"},
      {"{_id: 1, x: [1, 2]}", "{$bit: {'x.01': {or: 4}}, $mul: {'x.000': 3}}", "{_id: 1, x: [3, 6]}"},
      {"{_id: 1, x: [[1], 2]}", "{$push: {'x.00': 5}}", "{_id: 1, x: [[1, 5], 2]}"},
      {"{_id: 1, x: [[1, 2, 1], 2]}", "{$pull: {'x.00': 1}}", "{_id: 1, x: [[2], 2]}"},
      {"{_id: 1, x: [[1, 2]]}", "{$pop: {'x.00': 1}}", "{_id: 1, x: [[1]]}"},
      {"{_id: 1, x: [[1, 2]]}", "{$addToSet: {'x.000': 3}}", "{_id: 1, x: [[1, 2, 3]]}"},
      {"{_id: 1, x: [{a: 1}]}", "{$set: {'x.00.a': 2, 'x.00.b': 3}}", "{_id: 1, x: [{a: 2, b: 3}]}"},
      {"{_id: 1, x: [{a: [1, 2]}]}", "{$inc: {'x.00.a.$[]': 1}}", "{_id: 1, x: [{a: [2, 3]}]}"},
      {"{_id: 1, x: [[1], [2]]}", "{$inc: {'x.$[].00': 1}}", "{_id: 1, x: [[2], [3]]}"},
      {"{_id: 1, x: {}}", "{$set: {'x.00': 1}}", "{_id: 1, x: {'00': 1}}"},
      {"{_id: 1, x: {'0': 1, '00': 2}}", "{$unset: {'x.00': 1}}", "{_id: 1, x: {'0': 1}}"},
      {"{_id: 1}", "{$set: {'x.007': 1}}", "{_id: 1, x: {'007': 1}}"},
      // Both names mean one position: the later name finds what the earlier has left.
      {"{_id: 1, x: [1]}", "{$inc: {'x.0': 1, 'x.00': 10}}", "{_id: 1, x: [12]}"},
      {"{_id: 1, x: [1]}", "{$set: {'x.00': 'b', 'x.0': 'a'}}", "{_id: 1, x: ['b']}"},
      {"{_id: 1, x: [{}]}", "{$set: {'x.0.a': 1, 'x.00.b': 2}}", "{_id: 1, x: [{a: 1, b: 2}]}"},
      {"{_id: 1, x: []}", "{$push: {'x.2': 1, 'x.02': 2}}", "{_id: 1, x: [null, null, [2, 1]]}"},
  });
  check_refused({
      {"{_id: 1, x: [1]}", "{$set: {'x.-1': 1}}", 28, "Cannot create field '-1' in element {x: [ 1 ]}"},
      {"{_id: 1, x: [1]}", "{$set: {'x.+1': 1}}", 28, "Cannot create field '+1' in element {x: [ 1 ]}"},
      {"{_id: 1, x: [1]}", "{$set: {'x.1e0': 1}}", 28, "Cannot create field '1e0' in element {x: [ 1 ]}"},
      {"{_id: 1, x: [1]}", "{$set: {'x.4294967296': 1}}", 28, "Cannot create field '4294967296' in element {x: [ 1 ]}"},
      {"{_id: 1, x: [1]}", "{$set: {'x.99999999999999999999': 1}}", 28,
       "Cannot create field '99999999999999999999' in element {x: [ 1 ]}"},
      {"{_id: 1, x: [1]}", "{$set: {'x.4294967295': 1}}", 34, "can't backfill more than 1500000 elements"},
      {"{_id: 1, x: [1]}", "{$set: {'x.01500002': 1}}", 34, "can't backfill more than 1500000 elements"},
      {"{_id: 1, x: [1]}", "{$rename: {'x.00': 'y'}}", 2,
       "The source field cannot be an array element, 'x.00' in doc with _id: 1 has an array field called 'x'"},
      {"{_id: 1, x: [1], y: 1}", "{$rename: {y: 'x.00'}}", 2,
       "The destination field cannot be an array element, 'x.00' in doc with _id: 1 has an array field called 'x'"},
      {"{_id: 1, x: [1]}", "{$set: {'x.00': 1, 'x.00.a': 1}}", 40,
       "Updating the path 'x.00.a' would create a conflict at 'x.00'"},
  });
  CHECK(updated({"{_id: 1, x: [1]}", "{$set: {'x.1500001': 1}}", ""})->size() > 1'500'001 * 8);
  check_table({{"{_id: 1, x: [1]}", "{$unset: {'x.4294967296': 1, 'x.99': 1, 'x.-1': 1}}", "="}});
}

TEST_CASE("any mix of numbers in paths leaves an array as a list of numbers would be left") {
  CHECK(rc::check("elements are set, added to and removed by position", [](std::vector<int> start) {
    std::vector<std::optional<int64_t>> model(start.begin(), start.end());
    std::map<std::string, std::pair<char, int>> steps;
    for (const auto n : *rc::gen::container<std::vector<unsigned>>(rc::gen::inRange(0u, 1000u))) {
      steps[std::string(n % 4, '0') + std::to_string(n % 13)] = {"siu"[n % 3], static_cast<int>(n)};
    }
    bson::Builder set, increase, remove, before;
    for (const auto& [name, step] : steps) {
      // Adding to null is refused, so the test adds only to elements that nothing else touches.
      const size_t at = std::stoul(name);
      const bool alone =
          std::count_if(steps.begin(), steps.end(), [&](const auto& other) { return std::stoul(other.first) == at; }) == 1;
      const char kind = step.first == 'i' && (!alone || at >= start.size()) ? 's' : step.first;
      if (kind == 's') set.append("x." + name, step.second);
      if (kind == 'i') increase.append("x." + name, step.second);
      if (kind == 'u') remove.append("x." + name, 1);
    }
    bson::ArrayBuilder elements;
    for (const int value : start) elements.append(int64_t{value});
    before.append("_id", 1).append("x", elements.done_value());
    bson::Builder update;
    update.append("$set", set.done()).append("$inc", increase.done()).append("$unset", remove.done());

    std::vector<std::string> names;
    for (const auto& step : steps) names.push_back(step.first);
    const auto plain = [](const std::string& name) { return name.size() == 1 || name[0] != '0'; };
    std::sort(names.begin(), names.end(), [&](const std::string& a, const std::string& b) {
      return plain(a) && plain(b) && a.size() != b.size() ? a.size() < b.size() : a < b;
    });
    const bson::Document specification = update.done(), document = before.done();
    for (const auto& name : names) {
      const size_t at = std::stoul(name);
      const auto path = "x." + name;
      if (specification["$unset"].as_document().has(path)) {
        if (at < model.size()) model[at].reset();
        continue;
      }
      if (at >= model.size()) model.resize(at + 1);
      if (specification["$inc"].as_document().has(path))
        *model[at] += steps[name].second;
      else
        model[at] = steps[name].second;
    }
    const auto compiled = Update::parse(bson::Value(specification), {}, compile_for_test);
    Application application;
    application.document = document;
    const auto after = compiled->apply(application);
    const bson::Document result = after ? *after : document;
    std::vector<std::optional<int64_t>> got;
    for (const auto& element : result["x"].as_document())
      got.push_back(element.is_number() ? std::optional(bson::number::exact_int64(element).value()) : std::nullopt);
    RC_ASSERT(got == model);
  }));
}

TEST_CASE("parts of a DBRef stand in one, in their order") {
  check_table({
      {"{_id: 1, a: {$ref: 'c', $id: 1, $db: 'd'}}", "{$set: {'a.$id': 2, 'a.$db': 'e'}}",
       "{_id: 1, a: {$ref: 'c', $id: 2, $db: 'e'}}"},
      {"{_id: 1}", "{$set: {a: {$ref: 'c', $id: 1, $db: 'd'}}}", "{_id: 1, a: {$ref: 'c', $id: 1, $db: 'd'}}"},
      {"{_id: 1}", "{$set: {'a.$any': 1}}", "{_id: 1, a: {$any: 1}}"},
      {"{_id: 1, $ref: 'c', $id: 1}", "{$set: {$id: 2, b: 1}}", "{_id: 1, $ref: 'c', $id: 2, b: 1}"},
      {"{_id: 1, $price: 1, $id: 2}", "{$set: {b: 1}, $unset: {$price: 1, $id: 1}}", "{_id: 1, b: 1}"},
  });
  check_refused({
      {"{_id: 1}", "{$set: {$id: 3}}", 55, "Found $id field without a $ref before it, which is invalid."},
      {"{_id: 1}", "{$set: {$db: 'd'}}", 55, "Found $db field without a $id before it, which is invalid."},
      {"{_id: 1}", "{$set: {$db: 5}}", 55, "The DBRef $db field must be a String, not a int"},
      {"{_id: 1}", "{$set: {$ref: 'c'}}", 55, "The DBRef $ref field must be followed by a $id field"},
      {"{_id: 1}", "{$set: {$ref: 5}}", 55, "The DBRef $ref field must be a String, not a int"},
      {"{_id: 1, $ref: 'c', $id: 1}", "{$set: {$ref: 5}}", 55, "The DBRef $ref field must be a String, not a int"},
      {"{_id: 1}", "{$set: {'$id.a': 1}}", 55, "Found $id field without a $ref before it, which is invalid."},
      {"{_id: 1}", "{a: 1, $id: 1}", 55, "Found $id field without a $ref before it, which is invalid."},
      {"{_id: 1}", "{$inc: {$price: 1}}", 52,
       "The dollar ($) prefixed field '$price' in '$price' is not allowed in the context of an update's replacement document. "
       "Consider using an "
       "aggregation pipeline with $replaceWith."},
  });
}

TEST_CASE("added fields come in the order of their names, numbers by value") {
  check_table({
      {"{_id: 1}", "{$set: {z: 1, a: 2, '10': 3, '9': 4}}", "{_id: 1, '9': 4, '10': 3, a: 2, z: 1}"},
      {"{_id: 1, z: 0}", "{$set: {b: 1, z: 1, a: 2}}", "{_id: 1, z: 1, a: 2, b: 1}"},
      {"{_id: 1}", "{$set: {'9': 1, '10': 2, '1a': 3, a10: 4, a9: 5}}", "{_id: 1, '1a': 3, '9': 1, '10': 2, a9: 5, a10: 4}"},
      {"{_id: 1, '10': 0, '1a': 0, '9': 0}", "{$set: {'9': 1, '10': 2, '1a': 3}}", "{_id: 1, '10': 2, '1a': 3, '9': 1}"},
  });
}

TEST_CASE("the order of names is one: no three names go round in a circle") {
  const FieldNameLess less;
  CHECK(rc::check("of any three", [less] {
    const auto name = rc::gen::container<std::string>(rc::gen::element('0', '1', '9', 'a', '!'));
    const std::string a = *name, b = *name, c = *name;
    RC_ASSERT(!(less(a, b) && less(b, a)));
    RC_ASSERT(less(a, b) || less(b, a) || a == b);
    if (less(a, b) && less(b, c)) RC_ASSERT(less(a, c));
  }));
}

TEST_CASE("many fields of one object change at once") {
  bson::Builder before, update, after;
  before.append("_id", 1);
  after.append("_id", 1);
  {
    bson::Builder fields = update.object("$set");
    for (int i = 0; i < 100; ++i) {
      const std::string name = (i % 2 == 0 ? "" : "f") + std::to_string(i);
      before.append(name, 0);
      fields.append(name, i);
      after.append(name, i);
    }
  }
  const std::string given = bson::to_json(before.done()), change = bson::to_json(update.done()),
                    made = bson::to_json(after.done());
  check_table({{given.c_str(), change.c_str(), made.c_str()}});
}

TEST_CASE("numbers are added and multiplied in the type that holds the result") {
  check_table({
      {"{_id: 1, a: 1}", "{$inc: {a: 2}}", "{_id: 1, a: 3}"},
      {"{_id: 1}", "{$inc: {a: 2}}", "{_id: 1, a: 2}"},
      {"{_id: 1, a: 1}", "{$inc: {a: 0}}", "="},
      {"{_id: 1, a: 2147483647}", "{$inc: {a: 1}}", "{_id: 1, a: {$numberLong: '2147483648'}}"},
      {"{_id: 1, a: 1}", "{$inc: {a: 0.5}}", "{_id: 1, a: 1.5}"},
      {"{_id: 1, a: {$numberDecimal: '1.5'}}", "{$inc: {a: 1}}", "{_id: 1, a: {$numberDecimal: '2.5'}}"},
      {"{_id: 1, a: 3}", "{$mul: {a: 4}}", "{_id: 1, a: 12}"},
      {"{_id: 1}", "{$mul: {a: {$numberLong: '4'}}}", "{_id: 1, a: {$numberLong: '0'}}"},
      {"{_id: 1}", "{$mul: {a: 2.5}}", "{_id: 1, a: 0.0}"},
      {"{_id: 1, a: 5}", "{$min: {a: 3}}", "{_id: 1, a: 3}"},
      {"{_id: 1, a: 5}", "{$min: {a: 9}}", "="},
      {"{_id: 1, a: 5}", "{$max: {a: 9}}", "{_id: 1, a: 9}"},
      {"{_id: 1}", "{$max: {a: 9}}", "{_id: 1, a: 9}"},
      {"{_id: 1, a: 13}", "{$bit: {a: {and: 10}}}", "{_id: 1, a: 8}"},
      {"{_id: 1, a: 13}", "{$bit: {a: {and: 10, or: 1}}}", "{_id: 1, a: 9}"},
      {"{_id: 1}", "{$bit: {a: {or: 5}}}", "{_id: 1, a: 5}"},
      {"{_id: 1}", "{$currentDate: {a: true, b: {$type: 'timestamp'}}}",
       "{_id: 1, a: {$date: {$numberLong: '1000'}}, b: {$timestamp: {t: 7, i: 1}}}"},
  });
  check_refused({
      {"{_id: 1, a: 'x'}", "{$inc: {a: 1}}", 14,
       "Cannot apply $inc to a value of non-numeric type. {_id: 1} has the field 'a' of non-numeric type string"},
      {"{_id: 1}", "{$inc: {a: 'x'}}", 14, "Cannot increment with non-numeric argument: {a: \"x\"}"},
      {"{_id: 1, a: {$numberLong: '9223372036854775807'}}", "{$inc: {a: 1}}", 2,
       "Failed to apply $inc operations to current value ((NumberLong)9223372036854775807) for document {_id: 1}"},
  });
}

TEST_CASE("array operators") {
  check_table({
      {"{_id: 1, a: [1]}", "{$push: {a: 2}}", "{_id: 1, a: [1, 2]}"},
      {"{_id: 1}", "{$push: {a: 2}}", "{_id: 1, a: [2]}"},
      {"{_id: 1, a: [1]}", "{$push: {a: {$each: [5, 3], $sort: 1}}}", "{_id: 1, a: [1, 3, 5]}"},
      {"{_id: 1, a: [1]}", "{$push: {a: {$each: [5, 3], $position: 0}}}", "{_id: 1, a: [5, 3, 1]}"},
      {"{_id: 1, a: [1, 2, 3]}", "{$push: {a: {$each: [9], $position: -1}}}", "{_id: 1, a: [1, 2, 9, 3]}"},
      {"{_id: 1, a: [1, 2, 3]}", "{$push: {a: {$each: [4], $slice: -2}}}", "{_id: 1, a: [3, 4]}"},
      {"{_id: 1, a: [1, 2, 3]}", "{$push: {a: {$each: [4], $slice: 2}}}", "{_id: 1, a: [1, 2]}"},
      {"{_id: 1, a: [1, 2, 3]}", "{$push: {a: {$each: [], $slice: 0}}}", "{_id: 1, a: []}"},
      {"{_id: 1, a: [{s: 2}, {s: 1, x: 1}]}", "{$push: {a: {$each: [{s: 3}], $sort: {s: -1}, $slice: 2}}}",
       "{_id: 1, a: [{s: 3}, {s: 2}]}"},
      {"{_id: 1, a: [1, 2]}", "{$addToSet: {a: {$each: [2, 3, 3]}}}", "{_id: 1, a: [1, 2, 3]}"},
      {"{_id: 1, a: [1, 2]}", "{$addToSet: {a: 2.0}}", "="},
      {"{_id: 1, a: [1, 2]}", "{$addToSet: {a: [1, 2]}}", "{_id: 1, a: [1, 2, [1, 2]]}"},
      {"{_id: 1, a: [1, 2, 3]}", "{$pop: {a: 1}}", "{_id: 1, a: [1, 2]}"},
      {"{_id: 1, a: [1, 2, 3]}", "{$pop: {a: -1}}", "{_id: 1, a: [2, 3]}"},
      {"{_id: 1}", "{$pop: {a: -1}}", "="},
      {"{_id: 1, a: [1, 5, 8, 5]}", "{$pull: {a: 5}}", "{_id: 1, a: [1, 8]}"},
      {"{_id: 1, a: [1, 5, 8]}", "{$pull: {a: {$gt: 4}}}", "{_id: 1, a: [1]}"},
      {"{_id: 1, a: [{b: 1, c: 2}, {b: 2}]}", "{$pull: {a: {b: 1}}}", "{_id: 1, a: [{b: 2}]}"},
      {"{_id: 1, a: [1, 2, 3, 2]}", "{$pullAll: {a: [2, 3]}}", "{_id: 1, a: [1]}"},
      {"{_id: 1, a: [1]}", "{$pullAll: {a: [2]}}", "="},
  });
  check_refused({
      {"{_id: 1, a: 1}", "{$push: {a: 1}}", 2, "The field 'a' must be an array but is of type int in document {_id: 1}"},
      {"{_id: 1, a: 1}", "{$pull: {a: 1}}", 2, "Cannot apply $pull to a non-array value"},
      {"{_id: 1, a: 1}", "{$pop: {a: 1}}", 14, "Path 'a' contains an element of non-array type 'int'"},
      {"{_id: 1}", "{$pop: {a: 2}}", 9, "$pop expects 1 or -1, found: 2"},
      {"{_id: 1}", "{$push: {a: {$each: 1}}}", 2, "The argument to $each in $push must be an array but it was of type: int"},
      {"{_id: 1, a: 1}", "{$addToSet: {a: 1}}", 2,
       "Cannot apply $addToSet to non-array field. Field named 'a' has non-array type int"},
  });
}

TEST_CASE("elements are found by position of the match, all, or by filter") {
  check_table({
      {"{_id: 1, a: [4, 5, 6]}", "{$set: {'a.$': 9}}", "{_id: 1, a: [4, 9, 6]}", "[]", 1},
      {"{_id: 1, a: [{b: 1}, {b: 2}]}", "{$inc: {'a.$.b': 9}}", "{_id: 1, a: [{b: 1}, {b: 11}]}", "[]", 1},
      {"{_id: 1, a: [1, 2]}", "{$inc: {'a.$[]': 10}}", "{_id: 1, a: [11, 12]}"},
      {"{_id: 1, a: [1, 5, 9]}", "{$set: {'a.$[e]': 0}}", "{_id: 1, a: [1, 0, 0]}", "[{e: {$gte: 5}}]"},
      {"{_id: 1, a: [{g: 1, m: 2}, {g: 5, m: 3}]}", "{$set: {'a.$[e].m': 0}}", "{_id: 1, a: [{g: 1, m: 2}, {g: 5, m: 0}]}",
       "[{'e.g': {$gte: 5}}]"},
      {"{_id: 1, a: [[1, 6], [7]]}", "{$inc: {'a.$[].$[e]': 1}}", "{_id: 1, a: [[1, 7], [8]]}", "[{e: {$gt: 5}}]"},
      {"{_id: 1, a: []}", "{$inc: {'a.$[]': 10}}", "="},
      {"{_id: 1, a: [1, 2]}", "{$set: {'a.$[x]': 8, 'a.$[y]': 9}}", "{_id: 1, a: [8, 9]}", "[{x: 1}, {y: 2}]"},
  });
  check_refused({
      {"{_id: 1, a: [1]}", "{$set: {'a.$': 9}}", 2, "The positional operator did not find the match needed from the query."},
      {"{_id: 1, a: [1]}", "{$set: {'a.$.b.$': 9}}", 2, "Too many positional (i.e. '$') elements found in path 'a.$.b.$'"},
      {"{_id: 1}", "{$set: {'a.$[]': 9}}", 2, "The path 'a' must exist in the document in order to apply array updates."},
      {"{_id: 1, a: 5}", "{$set: {'a.$[]': 9}}", 2, "Cannot apply array updates to non-array element a: 5"},
      {"{_id: 1, a: [1]}", "{$set: {'a.$[e]': 9}}", 2, "No array filter found for identifier 'e' in path 'a.$[e]'"},
      {"{_id: 1, a: [1]}", "{$set: {b: 9}}", 9,
       "The array filter for identifier 'e' was not used in the update { $set: { b: 9 } }", "[{e: 1}]"},
      {"{_id: 1, a: [1]}", "{$set: {'a.$[x]': 8, 'a.$[y]': 9}}", 40, "Update created a conflict at 'a.0'", "[{x: 1}, {y: 1}]"},
      {"{_id: 1, a: [1]}", "{$set: {'a.$[e]': 8}}", 9,
       "Error parsing array filter :: caused by :: Expected a single top-level field name, found 'e' and 'f'", "[{e: 1, f: 1}]"},
  });
}

TEST_CASE("fields are renamed") {
  check_table({
      {"{_id: 1, a: 5}", "{$rename: {a: 'b'}}", "{_id: 1, b: 5}"},
      {"{_id: 1, a: 5, b: 6}", "{$rename: {a: 'b'}}", "{_id: 1, b: 5}"},
      {"{_id: 1, a: {x: 5}}", "{$rename: {'a.x': 'c.y'}}", "{_id: 1, a: {}, c: {y: 5}}"},
      {"{_id: 1}", "{$rename: {a: 'b'}}", "="},
      {"{_id: 1, b: 1}", "{$rename: {a: 'b.c'}}", "="},
      {"{_id: 1, a: [1]}", "{$rename: {'a.1': 'b'}}", "="},
  });
  check_refused({
      {"{_id: 1, a: 1}", "{$rename: {a: 'a'}}", 2, "The source and target field for $rename must differ: a: \"a\""},
      {"{_id: 1, a: 1}", "{$rename: {a: 1}}", 2, "The 'to' field for $rename must be a string: a: 1"},
      {"{_id: 1, a: 1}", "{$rename: {a: 'b\\u0000c'}}", 2, "The 'to' field for $rename cannot contain an embedded null byte"},
      {"{_id: 1, a: 1}", "{$rename: {'a.$': 'b'}}", 2, "The source field for $rename may not be dynamic: a.$"},
      {"{_id: 1, a: 5}", "{$rename: {'a.b': 'c'}}", 28, "cannot use the part (a of a.b) to traverse the element ({a: 5})"},
      {"{_id: 1, a: {b: [1]}}", "{$rename: {'a.b.c': 'd'}}", 28,
       "cannot use the part (b of a.b.c) to traverse the element ({b: [ 1 ]})"},
      {"{_id: 1, a: [{b: 1}]}", "{$rename: {'a.0.b': 'c'}}", 2,
       "The source field cannot be an array element, 'a.0.b' in doc with _id: 1 has an array field called 'a'"},
      {"{_id: 1, a: 1}", "{$rename: {a: 'b'}, $set: {b: 1}}", 40, "Updating the path 'b' would create a conflict at 'b'"},
  });
}

TEST_CASE("an impossible update is refused in MongoDB's words") {
  check_refused({
      {"{_id: 1}", "{$foo: {a: 1}}", 9,
       "Unknown modifier: $foo. Expected a valid update modifier or pipeline-style update specified as an array"},
      {"{_id: 1}", "{$set: 'a'}", 9,
       "Modifiers operate on fields but we found type string instead. For example: {$mod: {<field>: ...}} not {$set: \"a\"}"},
      {"{_id: 1}", "{$set: {a: 1, 'a.b': 2}}", 40, "Updating the path 'a.b' would create a conflict at 'a'"},
      {"{_id: 1}", "{$set: {'a.b': 1, a: 2}}", 40, "Updating the path 'a' would create a conflict at 'a'"},
      {"{_id: 1}", "{$set: {a: 1}, $inc: {a: 2}}", 40, "Updating the path 'a' would create a conflict at 'a'"},
      {"{_id: 1}", "{$set: {'a..b': 1}}", 56, "The update path 'a..b' contains an empty field name, which is not allowed."},
      {"{_id: 1}", "{$set: {'': 1}}", 56, "An empty update path is not valid."},
      {"{_id: 1, a: 5}", "{$set: {'a.b': 1}}", 28, "Cannot create field 'b' in element {a: 5}"},
      {"{_id: 1, a: 'x'}", "{$set: {'a.b.c': 1}}", 28, "Cannot create field 'b' in element {a: \"x\"}"},
      {"{_id: 1, a: [1]}", "{$set: {'a.b': 1}}", 28, "Cannot create field 'b' in element {a: [ 1 ]}"},
      {"{_id: 1, a: 5}", "{$pop: {'a.b': 1}}", 28, "Cannot use the part (b) of (a.b) to traverse the element ({a: 5})"},
      {"{_id: 1}", "{$set: {_id: 2}}", 66, "Performing an update on the path '_id' would modify the immutable field '_id'"},
      {"{_id: 1}", "{$unset: {_id: 2}}", 66, "Performing an update on the path '_id' would modify the immutable field '_id'"},
      {"{_id: 1}", "{_id: 2, a: 1}", 66,
       "After applying the update, the (immutable) field '_id' was found to have been altered to _id: 2"},
      {"{_id: 1}", "{$set: {'$x': 1}}", 52,
       "The dollar ($) prefixed field '$x' in '$x' is not allowed in the context of an update's replacement document. "
       "Consider using an aggregation pipeline with $replaceWith."},
      {"{_id: 1}", "5", 9, "Update argument must be either an object or an array"},
  });
}

TEST_CASE("a replacement keeps the _id, in front") {
  check_table({
      {"{_id: 1, a: 1}", "{b: 2}", "{_id: 1, b: 2}"},
      {"{_id: 1, a: 1}", "{b: 2, _id: 1}", "{_id: 1, b: 2}"},
      {"{_id: 1, a: 1}", "{a: 1}", "="},
      {"{_id: 1, a: 1}", "{}", "{_id: 1}"},
      {"{_id: 1}", "{t: {$timestamp: {t: 0, i: 0}}}", "{_id: 1, t: {$timestamp: {t: 7, i: 1}}}"},
  });
}

bson::Document upserted(const char* update, std::vector<std::pair<std::string, bson::Value>> equalities) {
  const bson::Value specification = bson::value_from_json(update).or_throw();
  const auto parsed = Update::parse(specification, {}, compile_for_test);
  Application application;
  return parsed->make_upsert(equalities, application);
}

TEST_CASE("an upsert starts with what the query demands") {
  const std::vector<std::pair<std::string, bson::Value>> query = {{"b.c", bson::Value(2)}, {"_id", bson::Value(5)}};
  CHECK(upserted("{$set: {a: 1}, $setOnInsert: {z: 9}}", query).bytes() == json("{_id: 5, b: {c: 2}, a: 1, z: 9}").bytes());
  CHECK(upserted("{a: 1}", query).bytes() == json("{_id: 5, a: 1}").bytes());
  CHECK(upserted("{$inc: {n: 1}}", {}).find("_id").type() == bson::Type::object_id);
  CHECK_THROWS_WITH(upserted("{$set: {_id: 1}}", query),
                    "Performing an update on the path '_id' would modify the immutable field '_id'");
  CHECK_THROWS_WITH(upserted("{$set: {x: 1}}", {{"a", bson::Value(1)}, {"a.b", bson::Value(1)}}),
                    "cannot infer query fields to set, both paths 'a' and 'a.b' are matched");
}

std::string list_of(const std::string& element, int count) {
  std::string list = "[";
  for (int i = 0; i < count; ++i) list += (i ? ", " : "") + element;
  return list + "]";
}

int refused_with(const std::string& before, const std::string& update, MemoryPool* pool = nullptr, size_t* whole_bytes = nullptr,
                 const std::string& array_filters = "[]") {
  OperationContext* const nobody = nullptr;
  Allowance allowance(nobody, pool);
  const bson::Value specification = bson::value_from_json(update).or_throw();
  const bson::Value filters = bson::value_from_json(array_filters).or_throw();
  UpdateOptions options;
  options.array_filters = filters.view().as_document();
  options.has_array_filters = !options.array_filters.empty();
  const auto parsed = Update::parse(specification, options, compile_for_test);
  const bson::Document document = json(before);
  Application application;
  application.document = document;
  application.allowance = &allowance;
  const int code = base::testing::code_of([&] { parsed->apply(application); });
  CHECK(application.pending_bytes == 0);
  CHECK(allowance.memory().held() == 0);
  if (whole_bytes) {
    for (const std::string& path : application.whole) *whole_bytes += path.size();
  }
  return code;
}

TEST_CASE("an update that makes too much is refused before it has made all of it") {
  MemoryPool pool(1 << 30, 1 << 30);
  const std::string text = "'" + std::string(1 << 20, 't') + "'";
  CHECK(refused_with("{_id: 1, a: " + list_of("0", 1000) + "}", "{$set: {'a.$[]': " + text + "}}", &pool) == 17419);
  CHECK(refused_with("{_id: 1, a: " + list_of("[]", 20) + "}", "{$set: {'a.$[].1500000': 1}}", &pool) == 17419);
  std::string fields = "_id: 1", sets;
  for (int i = 0; i < 20; ++i) {
    fields += ", f" + std::to_string(i) + ": []";
    sets += (i ? ", 'f" : "'f") + std::to_string(i) + ".1500000': 1";
  }
  CHECK(refused_with("{" + fields + "}", "{$set: {" + sets + "}}", &pool) == 17419);
  CHECK(pool.peak() >= 16 << 20);
  CHECK(pool.peak() < 64 << 20);
  // Two levels above the changes, and two names of one element.
  CHECK(refused_with("{_id: 1, a: {b: " + list_of("{c: 0}", 15) + "}}", "{$set: {'a.b.$[].c': " + text + "}}", &pool) == 0);
  const std::string half = "'" + std::string(9 << 20, 't') + "'";
  CHECK(refused_with("{_id: 1, a: [0]}", "{$set: {'a.0': " + half + ", 'a.00': " + half + "}}", &pool) == 0);
}

TEST_CASE("what an update makes is held in its operation's memory") {
  MemoryPool small(4 << 20, 4 << 20);
  const std::string text = "'" + std::string(1 << 20, 't') + "'";
  CHECK(refused_with("{_id: 1, a: " + list_of("0", 10) + "}", "{$set: {'a.$[]': " + text + "}}", &small) == 146);
  CHECK(refused_with("{_id: 1, a: " + list_of("0", 100'000) + "}", "{$inc: {'a.$[]': 1}}", &small) == 146);
}

TEST_CASE("the paths of what is set as a whole are bounded") {
  const std::string name(100'000, 'n');
  size_t bytes = 0;
  CHECK(refused_with("{_id: 1, " + name + ": " + list_of("0", 1000) + "}", "{$set: {'" + name + ".$[]': {}}}", nullptr, &bytes) ==
        0);
  CHECK(bytes > 1 << 20);
  CHECK(bytes <= 16 << 20);
}

// Writing the path once for each element would take many minutes.
TEST_CASE("a long path to many elements is not written for each of them") {
  const std::string name(7 << 20, 'n');
  size_t bytes = 0;
  CHECK(refused_with("{_id: 1, " + name + ": " + list_of("{}", 300'000) + "}", "{$set: {'" + name + ".$[].a': {}}}", nullptr,
                     &bytes) == 0);
  CHECK(bytes >= 7 << 20);
  CHECK(bytes <= 16 << 20);
  // Two modifiers work on each element, so their nodes are merged.
  const std::string shorter = name.substr(0, 4 << 20);
  CHECK(refused_with("{_id: 1, " + shorter + ": " + list_of("{c: 1}", 200'000) + "}",
                     "{$inc: {'" + shorter + ".$[].a': 1, '" + shorter + ".$[e].b': 1}}", nullptr, nullptr, "[{'e.c': 1}]") == 0);
}

// Comparing all paths with each other would take an hour.
TEST_CASE("an upsert's document is made of many paths in a moment") {
  std::vector<std::pair<std::string, bson::Value>> query = {{"_id", bson::Value(1)}};
  for (int i = 0; i < 300'000; ++i) query.emplace_back("f" + std::to_string(i), bson::Value(i));
  CHECK(upserted("{$set: {x: 1}}", query).find("f299999").as_int32() == 299'999);
  query.emplace_back("f7.x", bson::Value(1));
  CHECK_THROWS_WITH(upserted("{$set: {x: 1}}", query),
                    "cannot infer query fields to set, both paths 'f7' and 'f7.x' are matched");
  query.back().first = "f9";
  CHECK_THROWS_WITH(upserted("{$set: {x: 1}}", query), "cannot infer query fields to set, path 'f9' is matched twice");
}

// A model of $set, $unset and $inc over documents two levels deep.
using Model = std::map<std::string, std::map<std::string, int>>;

bson::Document document_of(const Model& model) {
  bson::Builder out;
  out.append("_id", 1);
  for (const auto& [name, fields] : model) {
    bson::Builder nested = out.object(name);
    for (const auto& [field, value] : fields) nested.append(field, value);
  }
  return out.done();
}

Model model_of(DocumentView document) {
  Model model;
  for (const auto& field : document) {
    if (!field.is_object()) continue;
    auto& fields = model[std::string(field.name)];
    for (const auto& nested : field.as_document()) fields[std::string(nested.name)] = nested.as_int32();
  }
  return model;
}

TEST_CASE("updates do to documents what a map of maps does") {
  CHECK(rc::check("$set, $unset and $inc on disjoint paths", [] {
    Model model;
    for (const char* outer : {"a", "b", "c", "d"}) {
      if (*rc::gen::arbitrary<bool>()) continue;
      for (const char* inner : {"a", "b", "c", "d"}) {
        if (*rc::gen::arbitrary<bool>()) model[outer][inner] = *rc::gen::inRange(0, 100);
      }
    }
    const bson::Document before = document_of(model);
    bson::Builder set, unset, inc;
    for (const char* outer : {"a", "b", "c", "d"}) {
      for (const char* inner : {"a", "b", "c", "d"}) {
        const std::string path = std::string(outer) + "." + inner;
        const int value = *rc::gen::inRange(0, 100);
        switch (*rc::gen::inRange(0, 6)) {
          case 0:
            set.append(path, value);
            model[outer][inner] = value;
            break;
          case 1:
            unset.append(path, "");
            if (model.contains(outer)) model[outer].erase(inner);
            break;
          case 2:
            inc.append(path, value);
            model[outer][inner] += value;
            break;
          default: break;
        }
      }
    }
    bson::Builder specification;
    specification.append("$set", set.done()).append("$unset", unset.done()).append("$inc", inc.done());
    const bson::Document update_document = specification.done();
    const auto update = Update::parse(bson::Value(update_document), {}, compile_for_test);
    Application application;
    application.document = before;
    const auto after = update->apply(application);
    RC_ASSERT(model_of(after ? after->view() : before.view()) == model);
    RC_ASSERT(after.has_value() == (model_of(before) != model));
  }));
}

}  // namespace
}  // namespace server::write
