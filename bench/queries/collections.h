// These are the collections that the queries read. All have _ids from 0.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "bench/measure/clients.h"
#include "bson/document.h"

namespace bench::queries {

inline constexpr const char* database = "bench";

// 1 KB and 20 fields: _id, `key` (one of 1,000 texts), `n`, `m` and `k` (numbers without an order), 14 texts, and `last`, a
// number.
bson::Document made_document(int64_t id);
// Returns the same with `a` and `b`, numbers below 100.
bson::Document made_pair(int64_t id);
// Returns {_id, at: [longitude, latitude]}; the points are spread over the sphere.
bson::Document made_point(int64_t id);

// Inserts documents until `next` has none more. Returns their bytes.
using NextDocument = std::function<std::optional<bson::Document>()>;
uint64_t insert(Clients& client, const std::string& collection, const NextDocument& next);
uint64_t insert(Clients& client, const std::string& collection, int64_t count, bson::Document (*made)(int64_t id));

struct Texts {
  uint64_t bytes = 0;
  int64_t documents = 0;
  std::string source;
};
// Texts of a forum where the data set is there, else made-up ones: {_id, text}.
Texts insert_texts(Clients& client, const std::string& collection, const std::string& data, bool synthetic, size_t count);

}  // namespace bench::queries
