// These functions make random documents and filters for property tests of the planner.
#pragma once

#include <string>

#include "base/random.h"
#include "bson/json.h"
#include "server/query/key_values.h"

namespace server::query {

using base::Random;

// Small domains make random filters and documents meet.
inline std::string random_scalar(Random& random, bool in_filter = true) {
  static const char* const scalars[] = {"0",
                                        "1",
                                        "2",
                                        "3",
                                        "2.5",
                                        "null",
                                        "'a'",
                                        "'ab'",
                                        "'b'",
                                        "true",
                                        "{x: 1}",
                                        "[]",
                                        "{$numberDouble: 'NaN'}",
                                        "{$numberDecimal: '2'}",
                                        "{$date: '2020-01-01T00:00:00Z'}",
                                        "{$minKey: 1}",
                                        "{$maxKey: 1}",
                                        "{$undefined: true}"};
  // A filter can't ask for undefined; a document may have it.
  return scalars[random.below(random.below(3) ? 9 : std::size(scalars) - (in_filter ? 1 : 0))];
}

inline std::string random_value(Random& random, int depth = 0) {
  switch (random.below(depth < 2 ? 6 : 3)) {
    case 3: {
      std::string text = "[";
      const uint64_t count = random.below(4);
      for (uint64_t i = 0; i < count; ++i) text += (i ? ", " : "") + random_value(random, depth + 1);
      return text + "]";
    }
    case 4: {
      std::string text = "{";
      for (const char* name : {"b", "c"}) {
        if (random.below(2)) text += (text.size() > 1 ? ", " : "") + std::string(name) + ": " + random_value(random, depth + 1);
      }
      return text + "}";
    }
    default: return random_scalar(random);
  }
}

inline std::string random_document(Random& random, int id) {
  std::string text = "{_id: " + std::to_string(id);
  // Only one field may hold an array, or compound indexes would refuse the document.
  const uint64_t with_arrays = random.below(3);
  uint64_t i = 0;
  for (const char* name : {"a", "d", "e"}) {
    if (random.below(4))
      text += ", " + std::string(name) + ": " + (i == with_arrays ? random_value(random) : random_scalar(random, false));
    ++i;
  }
  text += "}";
  // `[]` among the scalars is an array, too.
  const bson::Document document = bson::json(text);
  int arrays = 0;
  for (const bson::Element& element : document) arrays += element.is_array();
  static constexpr std::string_view inner[] = {"a.b", "a.c"};
  const bool indexable = arrays <= 1 && visit_keys(document, inner, [](auto) {});
  return indexable ? text : random_document(random, id);
}

inline std::string random_path(Random& random) {
  static const char* const paths[] = {"a", "a", "d", "e", "a.b", "a.c", "_id"};
  return paths[random.below(std::size(paths))];
}

inline std::string random_operators(Random& random) {
  static const char* const orders[] = {"$gt", "$gte", "$lt", "$lte", "$eq", "$ne"};
  switch (random.below(20)) {
    case 0: return "{$in: [" + random_scalar(random) + ", " + random_scalar(random) + "]}";
    case 1: return "{$nin: [" + random_scalar(random) + ", " + random_scalar(random) + "]}";
    case 2: return random.below(2) ? "{$exists: true}" : "{$exists: false}";
    case 3: return "{$type: '" + std::string(random.below(2) ? "number" : "string") + "'}";
    case 4: return "{$elemMatch: {$gte: " + random_scalar(random) + ", $lt: " + random_scalar(random) + "}}";
    case 5: return "{$regex: '^a'}";
    case 6: return "{$gt: " + random_scalar(random) + ", $lt: " + random_scalar(random) + "}";
    case 7: return "{$not: {$gt: " + random_scalar(random) + "}}";
    case 8: return "{$elemMatch: {b: " + random_scalar(random) + ", c: " + random_scalar(random) + "}}";
    case 9: return "{$not: {$in: [" + random_scalar(random) + ", null, /^A/i]}}";
    case 10: return "{$in: [" + random_value(random, 1) + ", null, /^a/]}";
    case 11: return "{$all: [" + random_scalar(random) + ", " + random_scalar(random) + "]}";
    case 12: return "{$not: {$elemMatch: {$gt: " + random_scalar(random) + "}}}";
    case 13: return "{$size: " + std::to_string(random.below(3)) + "}";
    case 14: {
      static const char* const types[] = {"array", "null", "object", "minKey", "bool"};
      const std::string type = types[random.below(5)];
      return random.below(2) ? "{$type: '" + type + "'}" : "{$not: {$type: '" + type + "'}}";
    }
    case 15: return "{$mod: [2, " + std::to_string(random.below(2)) + "]}";
    default: return "{" + std::string(orders[random.below(6)]) + ": " + random_scalar(random) + "}";
  }
}

inline std::string random_expression(Random& random, int depth = 0) {
  static const char* const operators[] = {"$eq", "$gt", "$gte", "$lt", "$lte", "$ne"};
  if (depth < 2 && random.below(3) == 0) {
    return std::string(random.below(2) ? "{$and: [" : "{$or: [") + random_expression(random, depth + 1) + ", " +
           random_expression(random, depth + 1) + "]}";
  }
  const std::string field = "'$" + random_path(random) + "'", value = "{$literal: " + random_scalar(random) + "}";
  return "{" + std::string(operators[random.below(6)]) + ": [" + (random.below(3) ? field + ", " + value : value + ", " + field) +
         "]}";
}

inline std::string random_filter(Random& random, int depth = 0) {
  std::string text;
  const uint64_t parts = 1 + random.below(3);
  for (uint64_t i = 0; i < parts; ++i) {
    text += i ? ", " : "";
    if (depth < 2 && random.below(6) == 0) {
      text += std::string(random.below(3) ? "$or" : "$nor") + ": [{" + random_filter(random, depth + 1) + "}, {" +
              random_filter(random, depth + 1) + "}]";
    } else if (random.below(10) == 0) {
      text += "$expr: " + random_expression(random);
    } else {
      text += "'" + random_path(random) + "': " + (random.below(2) ? random_operators(random) : random_value(random, 1));
    }
  }
  return text;
}

}  // namespace server::query
