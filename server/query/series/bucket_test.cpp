// Buckets hold what was added to them, and filters over buckets leave out none with a measurement that matches.
#include "server/query/series/bucket.h"

#include <catch2/catch.hpp>

#include "base/error.h"
#include "base/random.h"
#include "base/testing.h"
#include "bson/column.h"
#include "bson/compare.h"
#include "bson/json.h"
#include "bson/testing/column_bytes.h"
#include "server/query/matcher.h"
#include "server/query/series/bucket_filter.h"
#include "server/query/series/bucket_index.h"

namespace server::query {
namespace {

SeriesOptions series() {
  SeriesOptions options;
  options.time_field = "t";
  options.meta_field = "m";
  options.granularity = "seconds";
  options.span_s = 3600;
  options.rounding_s = 60;
  return options;
}

bson::Document measurement(int64_t ms, int value, std::string_view meta = {}) {
  bson::Builder out;
  out.append("_id", value).append("t", bson::Date{ms});
  if (!meta.empty()) out.append("m", meta);
  out.append("v", value);
  return out.done();
}

std::vector<bson::Document> all(const SeriesOptions& options, bson::DocumentView bucket) {
  std::vector<bson::Document> found;
  BucketReader reader(options.time_field, options.meta_field, bucket);
  while (reader.next()) found.push_back(reader.measurement());
  return found;
}

TEST_CASE("a bucket holds what was added") {
  const SeriesOptions options = series();
  BucketBuilder builder(options, bson::Value("a"), options.rounded(90'500), nullptr);
  builder.add(bson::json(R"({_id: 1, t: {$date: 90500}, m: "a", v: 5, o: {x: 1, y: 9}, l: [1, 8]})"));
  builder.add(bson::json(R"({_id: 2, t: {$date: 60000}, m: "a", w: 1, o: {x: 3, z: 0}, l: [0, 9, 4]})"));
  const bson::Document bucket = builder.document();
  CHECK_NOTHROW(check_bucket(options, bucket));
  const bson::DocumentView control = bucket["control"].as_document();
  CHECK(bson::to_shell(control["min"].as_document()["o"].as_document()) == "{ x: 1, y: 9, z: 0 }");
  CHECK(bson::to_shell(control["max"].as_document()["o"].as_document()) == "{ x: 3, y: 9, z: 0 }");
  CHECK(control["max"].as_document()["l"].as_document()["1"].to_int64() == 9);
  CHECK(control["min"].as_document()["t"].as_date().ms == 60'000);
  CHECK(control["max"].as_document()["t"].as_date().ms == 90'500);
  const auto found = all(options, bucket);
  REQUIRE(found.size() == 2u);
  CHECK(bson::compare(found[0], bson::json(R"({t: {$date: 90500}, m: "a", _id: 1, v: 5, o: {x: 1, y: 9}, l: [1, 8]})")) == 0);
  CHECK(bson::compare(found[1], bson::json(R"({t: {$date: 60000}, m: "a", _id: 2, o: {x: 3, z: 0}, l: [0, 9, 4], w: 1})")) == 0);
}

TEST_CASE("a bucket goes on where it was left") {
  const SeriesOptions options = series();
  BucketBuilder once(options, {}, 0, nullptr);
  bson::Document stored;
  for (int i = 0; i < 50; ++i) {
    once.add(measurement(i * 1000, (i * 7) % 50));
    if (i == 0) {
      stored = once.document();
      continue;
    }
    BucketBuilder again(options, stored, nullptr);
    REQUIRE(again.fits(measurement(i * 1000, 1), i * 1000));
    again.add(measurement(i * 1000, (i * 7) % 50));
    stored = again.document();
  }
  CHECK(bson::compare(stored, once.document()) == 0);
  CHECK(measurement_count(options, stored) == 50);
}

TEST_CASE("a bucket takes what its limits allow") {
  const SeriesOptions options = series();
  BucketBuilder builder(options, {}, 60'000, nullptr);
  const auto fits = [&](int64_t ms) { return builder.fits(measurement(ms, 1), ms); };
  CHECK_FALSE(fits(59'999));
  CHECK(fits(60'000));
  CHECK(fits(60'000 + 3'599'999));
  CHECK_FALSE(fits(60'000 + 3'600'000));
  CHECK_FALSE(fits(INT64_MAX));
  CHECK_FALSE(fits(INT64_MIN));
  for (int i = 0; i < 1000; ++i) {
    REQUIRE(fits(60'000));
    builder.add(measurement(60'000, i));
  }
  CHECK_FALSE(fits(60'000));
}

TEST_CASE("kinds of values don't mix in a bucket") {
  const SeriesOptions options = series();
  BucketBuilder builder(options, {}, 0, nullptr);
  const auto fits = [&](const char* text) { return builder.fits(bson::json(text), 0); };
  builder.add(bson::json("{t: {$date: 0}, v: 1, o: {a: 1, l: [1, 'x']}}"));
  CHECK(fits("{t: {$date: 0}, v: 2.5, new: 'x', o: {b: 'x'}}"));
  CHECK_FALSE(fits("{t: {$date: 0}, v: 'x'}"));
  CHECK_FALSE(fits("{t: {$date: 0}, o: {a: 'x'}}"));
  CHECK_FALSE(fits("{t: {$date: 0}, o: {l: ['x']}}"));
  CHECK(fits("{t: {$date: 0}, o: {l: [2]}}"));
}

TEST_CASE("the first moments of buckets are rounded down") {
  const SeriesOptions options = series();
  CHECK(options.rounded(61'000) == 60'000);
  CHECK(options.rounded(-1) == -60'000);
  CHECK(options.rounded(-60'000) == -60'000);
  CHECK(options.rounded(INT64_MIN) == INT64_MIN);
}

TEST_CASE("buckets' ids keep the order of times") {
  bson::ObjectId last = bucket_id_bound(INT64_MIN, false);
  for (const int64_t ms : {int64_t{-1}, int64_t{0}, int64_t{999}, int64_t{1000}, int64_t{1} << 41, int64_t{1} << 60, INT64_MAX}) {
    CHECK(last <= bucket_id_bound(ms, true));
    CHECK(bucket_id_bound(ms, false) <= bucket_id(ms));
    CHECK(bucket_id(ms) <= bucket_id_bound(ms, true));
    last = bucket_id_bound(ms, false);
  }
}

TEST_CASE("buckets from outside are checked") {
  const SeriesOptions options = series();
  BucketBuilder builder(options, bson::Value(5), 0, nullptr);
  builder.add(measurement(1, 1));
  builder.add(measurement(2, 2));
  const std::string good = bson::to_shell(builder.document());
  const auto check = [&](std::string_view from, std::string_view to) {
    std::string text = good;
    const size_t found = text.find(from);
    REQUIRE(found != std::string::npos);
    text.replace(found, from.size(), to);
    CHECK_THROWS_AS(check_bucket(options, bson::json(text)), base::OperationError);
  };
  CHECK_NOTHROW(check_bucket(options, bson::json(good)));
  CHECK(has_bucket_shape(options, bson::json(good)));
  for (const char* text :
       {"{}", "{_id: 1}", "{_id: ObjectId('000000000000000000000000'), control: 1, data: {}}",
        "{_id: ObjectId('000000000000000000000000'), control: {version: 1, min: {t: 1}, max: {}}, data: {t: {}}}"})
    CHECK_FALSE(has_bucket_shape(options, bson::json(text)));
  check("version: 1", "version: 2");
  check("version: 1", "version: 3");
  check("_id: ObjectId('00000000", "_id: ObjectId('00000001");
  check("meta: 5", "other: 5");
  check("data: {", "other: {");
  check("v: { 0: 1, 1: 2 }", "v: { 0: 1, 2: 2 }");
  check("v: { 0: 1, 1: 2 }", "v: { 1: 1, 0: 2 }");
  check("v: { 0: 1, 1: 2 }", "v: { '01': 1 }");
  check("v: { 0: 1, 1: 2 }", "v: 5");
  check("v: { 0: 1, 1: 2 }", "m: { 0: 1 }");
}

// Returns a compressed bucket with the columns t: 0, 1000, 2000 and v: 5, missing, 7.
bson::Document compressed(int count = 3, const bson::Bytes& more = {}) {
  using namespace bson::testing;
  const bson::Bytes times = literal("{$date: 0}") + deltas({1000, 0}) + column_end;
  const bson::Bytes values = literal("5") + words(8, {skip_word(), one_delta(2)}) + column_end;
  bson::Builder out;
  out.append("_id", bson::ObjectId());
  {
    bson::Builder control = out.object("control");
    control.append("version", 2);
    control.object("min").append("t", bson::Date{0}).append("v", 5);
    control.object("max").append("t", bson::Date{2000}).append("v", 7);
    control.append("count", count);
  }
  out.append("meta", 5);
  {
    bson::Builder data = out.object("data");
    data.append("t", bson::Binary{bson::column_subtype, times}).append("v", bson::Binary{bson::column_subtype, values});
    if (!more.empty()) data.append("w", bson::Binary{bson::column_subtype, more});
  }
  return out.done();
}

TEST_CASE("compressed buckets are read, counted, and made anew without compression") {
  const SeriesOptions options = series();
  const bson::Document bucket = compressed();
  CHECK_NOTHROW(check_bucket(options, bucket));
  CHECK(measurement_count(options, bucket) == 3);
  CHECK_FALSE(has_bucket_shape(options, bucket));
  const auto found = all(options, bucket);
  REQUIRE(found.size() == 3u);
  CHECK(bson::compare(found[0], bson::json("{t: {$date: 0}, m: 5, v: 5}")) == 0);
  CHECK(bson::compare(found[1], bson::json("{t: {$date: 1000}, m: 5}")) == 0);
  CHECK(bson::compare(found[2], bson::json("{t: {$date: 2000}, m: 5, v: 7}")) == 0);
  BucketBuilder rest = BucketBuilder::emptied(options, bucket, nullptr);
  rest.add(found[2]);
  const bson::Document plain = rest.document();
  CHECK_NOTHROW(check_bucket(options, plain));
  CHECK(plain["_id"].identical(bucket["_id"]));
  CHECK(all(options, plain).size() == 1u);
}

TEST_CASE("compressed buckets whose columns don't fit are refused") {
  using namespace bson::testing;
  const SeriesOptions options = series();
  const auto refused = [&](const bson::Document& bucket) {
    return base::testing::error_of([&] { check_bucket(options, bucket); });
  };
  for (const int count : {0, 2, 4, 20'000}) CHECK(refused(compressed(count)) != base::ErrorCode::ok);
  CHECK(refused(compressed(3, literal("1") + deltas({1, 1}) + column_end)) == base::ErrorCode::ok);
  CHECK(refused(compressed(3, literal("1") + deltas({1, 1, 1}) + column_end)) == base::ErrorCode::bson_object_too_large);
  CHECK(refused(compressed(3, literal("1"))) == base::ErrorCode::bad_value);
  bson::Bytes runs = literal("'" + std::string(100'000, 'x') + "'");
  for (int i = 0; i < 3; ++i) runs += words(8, {run_word(16)});
  CHECK(refused(compressed(3, runs + column_end)) == base::ErrorCode::bson_object_too_large);
}

TEST_CASE("metas are equal whatever the order of their fields") {
  const auto normalized = [](const char* text) {
    const bson::Document document = bson::json(text);
    return bson::Value(normalized_meta(document["m"]));
  };
  CHECK(normalized("{m: {b: 1, a: {d: 1, c: [{y: 1, x: 2}]}}}")
            .view()
            .identical(normalized("{m: {a: {c: [{x: 2, y: 1}], d: 1}, b: 1}}")));
  CHECK_FALSE(normalized("{m: [1, 2]}").view().identical(normalized("{m: [2, 1]}")));
}

// For any measurement and any filter: if the measurement matches, its bucket matches the filter over buckets.
TEST_CASE("a filter over buckets leaves out none that is needed") {
  const SeriesOptions options = series();
  base::Random random(7);
  const auto moment = [&] { return static_cast<int64_t>(random.below(12'000'000)) - 2'000'000; };
  const auto date = [](int64_t ms) { return "{$date: " + std::to_string(ms) + "}"; };
  int matched = 0, left_out = 0;
  for (int round = 0; round < 3000; ++round) {
    const int64_t first = options.rounded(moment());
    BucketBuilder builder(options, random.below(3) == 0 ? bson::Value() : bson::Value(static_cast<int32_t>(random.below(3))),
                          first, nullptr);
    for (uint64_t i = 0; i <= random.below(3); ++i)
      builder.add(measurement(first + static_cast<int64_t>(random.below(3'600'000)), static_cast<int>(random.below(5))));
    const bson::Document bucket = builder.document();
    const std::string a = date(moment()), b = date(moment()), n = std::to_string(random.below(3));
    const std::string filters[] = {"{t: {$gt: " + a + "}}",
                                   "{t: {$gte: " + a + ", $lt: " + b + "}}",
                                   "{t: {$lte: " + a + "}, m: " + n + "}",
                                   "{m: {$exists: false}}",
                                   "{m: null, v: 1}",
                                   "{$or: [{t: {$lt: " + a + "}}, {m: " + n + "}]}",
                                   "{$or: [{t: {$lt: " + a + "}}, {v: 2}]}",
                                   "{$and: [{t: {$gt: " + a + "}}, {$or: [{m: 1}, {m: 2, t: {$gt: " + b + "}}]}]}",
                                   "{t: {$in: [" + a + ", " + b + "]}}",
                                   "{t: {$not: {$gt: " + a + "}}}",
                                   "{$nor: [{t: {$gt: " + a + "}}]}"};
    for (const std::string& text : filters) {
      const bson::Document filter = bson::json(text);
      const auto over_measurements = Matcher::parse(filter);
      const bson::Document narrowed = bucket_filter(options, filter);
      const auto over_buckets = Matcher::parse(narrowed);
      const bool kept = over_buckets->matches(bucket);
      left_out += kept ? 0 : 1;
      for (const bson::Document& one : all(options, bucket)) {
        if (!over_measurements->matches(one)) continue;
        ++matched;
        INFO(text << " -> " << bson::to_shell(narrowed) << " over " << bson::to_shell(bucket));
        REQUIRE(kept);
      }
    }
  }
  CHECK(matched > 1000);
  CHECK(left_out > 1000);
}

TEST_CASE("indexes' keys lead to buckets and back") {
  const SeriesOptions options = series();
  for (const char* text :
       {"{m: 1}", "{t: 1}", "{t: -1}", "{m: 1, t: 1}", "{'m.a.b': -1, t: -1, 'm.c': 1}", "{'m.at': '2dsphere'}"}) {
    const bson::Document key = bson::json(text);
    const auto back = series_key(options, bucket_key(options, key));
    REQUIRE(back);
    CHECK(bson::compare(*back, key) == 0);
  }
  CHECK_THROWS_AS(bucket_key(options, bson::json("{v: 1}")), base::OperationError);
  CHECK_THROWS_AS(bucket_key(options, bson::json("{mm: 1}")), base::OperationError);
  CHECK_FALSE(series_key(options, bson::json("{'control.min.t': 1}")));
  CHECK_FALSE(series_key(options, bson::json("{'control.max.t': 1, 'control.min.t': 1}")));
  CHECK_FALSE(series_key(options, bson::json("{v: 1}")));
}

}  // namespace
}  // namespace server::query
