#include "server/query/query_shape.h"

#include <catch2/catch.hpp>

#include "bson/json.h"

namespace server::query {
namespace {

std::string shape(const std::string& filter, const std::string& sort = "{}") {
  return query_shape(bson::json(filter), bson::json(sort), bson::json("{}"), nullptr);
}

}  // namespace

TEST_CASE("values, order and a written-out $eq don't count in a shape") {
  CHECK(shape("{a: 5}") == shape("{a: 'x'}"));
  CHECK(shape("{a: 5}") == shape("{a: {$eq: {b: 1}}}"));
  CHECK(shape("{a: 5, b: {$in: [1, 2]}}") == shape("{b: {$in: [7]}, a: 9}"));
  CHECK(shape("{$or: [{a: 1}, {b: 2}]}") == shape("{$or: [{b: 9}, {a: 8}]}"));
  CHECK(shape("{a: {$gt: 1, $lt: 5}}") == shape("{a: {$lt: 2, $gt: 0}}"));
  CHECK(shape("{a: {b: 1}}") == shape("{a: [1, 2]}"));
}

TEST_CASE("fields, operators and sorts do count") {
  CHECK(shape("{a: 5}") != shape("{b: 5}"));
  CHECK(shape("{a: 5}") != shape("{a: {$gt: 5}}"));
  CHECK(shape("{a: 5}") != shape("{a: {$regex: 'x'}}"));
  CHECK(shape("{a: 1}", "{b: 1}") != shape("{a: 1}", "{b: -1}"));
  CHECK(shape("{a: {$elemMatch: {b: 1}}}") != shape("{a: {$elemMatch: {c: 1}}}"));
  CHECK(shape("{'a,b': 1}") != shape("{a: 1, b: 1}"));
  CHECK(shape("{}") != shape("{$and: [{}]}"));
}

}  // namespace server::query
