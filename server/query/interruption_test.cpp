// An operation asks soon and often whether to go on, and counts what it makes while it makes it.
//
// The clock is this test's own: each look at it takes 200 microseconds. So `maxTimeMS` is a number of looks, whatever the machine
// does meanwhile. Between two looks, an operation may take some times as long as it takes to copy the large document once.
#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <thread>

#include "base/cpu_time.h"
#include "bson/json.h"
#include "server/query/expressions/accumulate.h"
#include "server/query/test_support.h"
#include "server/testing/query_grammar.h"

namespace server::query {
namespace {

constexpr int time_is_up = 50, no_memory = 146;
constexpr double longest_passes = 100;
constexpr int64_t look_us = 200;

// Measures what the thread that made it works between its looks at the time.
class LookClock final : public base::Clock {
 public:
  int64_t wall_ms() const override { return 1'700'000'000'000 + now_us_ / 1000; }
  int64_t monotonic_us() const override {
    if (std::this_thread::get_id() != watched_) return now_us_;
    note();
    ++looks_;
    return now_us_ += look_us;
  }

  void begin() {
    looks_ = longest_ns_ = 0;
    last_ns_ = worked_ns();
  }
  void end() const { note(); }
  int64_t looks() const { return looks_; }
  int64_t longest_ns() const { return longest_ns_; }

  // The time that the thread has had a processor.
  static int64_t worked_ns() { return static_cast<int64_t>(1e9 * base::thread_cpu_seconds()); }

 private:
  void note() const {
    const int64_t now = worked_ns();
    longest_ns_ = std::max(longest_ns_, now - last_ns_);
    last_ns_ = now;
  }

  const std::thread::id watched_ = std::this_thread::get_id();
  mutable std::atomic<int64_t> now_us_{1'000'000};
  mutable int64_t looks_ = 0, longest_ns_ = 0, last_ns_ = 0;
};

constexpr int many = 60'000;

// It has what the grammar's paths name, and much of it.
bson::Document large_document(int id) {
  bson::Builder out;
  out.append("_id", id).append("a", id).append("s", std::string(20'000, 'b'));
  {
    bson::Builder fields = out.object("b");
    fields.append("c", 1);
    for (int i = 0; i < many; ++i) fields.append("field" + std::to_string(i), i);
    fields.append("d", "x");
  }
  {
    bson::ArrayBuilder numbers = out.array("l");
    for (int i = 0; i < many; ++i) numbers.append(i * 7919 % many);
  }
  {
    bson::ArrayBuilder objects = out.array("o");
    for (int i = 0; i < many / 6; ++i) objects.object().append("k", i % 7).append("v", i).append("a", -i);
  }
  return out.done();
}

void copy(bson::DocumentView document, bson::Builder& out) {
  for (const bson::Element& field : document) {
    if (field.is_object() || field.is_array()) {
      bson::Builder below = out.object(field.name);
      copy(field.as_document(), below);
    } else {
      out.append_element(field);
    }
  }
}

struct Fixture {
  LookClock clock;
  TestServer server{clock};
  const bson::Document large = large_document(1);
  int64_t pass_ns = 0;  // what it takes to copy it once, field by field

  Fixture() {
    for (const char* collection : {"c", "d"}) {
      for (int id = 1; id <= 3; ++id) server.insert(collection, large_document(id));
    }
    constexpr int passes = 5;
    const int64_t before = LookClock::worked_ns();
    for (int i = 0; i < passes; ++i) {
      bson::Builder out;
      copy(large, out);
      REQUIRE(out.size() > 0);
    }
    pass_ns = (LookClock::worked_ns() - before) / passes;
  }

  // Runs the command, and returns its error's code; 0: it came to its end.
  int run(bson::DocumentView command) {
    clock.begin();
    const bson::Document reply = server.run(command);
    clock.end();
    return reply["ok"].truthy() ? 0 : static_cast<int>(reply["code"].to_int64());
  }
  // The unit is the time of copying the large document.
  double longest() const { return static_cast<double>(clock.longest_ns()) / static_cast<double>(pass_ns); }
};

bson::Document aggregate(const bson::ValueView& stages, int time_ms) {
  bson::Builder command;
  command.append("aggregate", "c").append("pipeline", stages);
  command.object("cursor").append("batchSize", 1000);
  return command.append("maxTimeMS", time_ms).done();
}
bson::Document aggregate(const std::string& stages, int time_ms) {
  return aggregate(bson::value_from_json(stages).or_throw(), time_ms);
}

// Returns 'f0': <value>, 'f1': <value> …
std::string fields(int count, const std::string& value) {
  std::string out;
  for (int i = 0; i < count; ++i) out += (i == 0 ? "f" : ", f") + std::to_string(i) + ": " + value;
  return out;
}
std::string repeated(int count, const std::string& value) {
  std::string out = value;
  for (int i = 1; i < count; ++i) out += ", " + value;
  return out;
}

// The test's server has nobody who writes, and no branches, sets or logs.
bool is_beyond(std::string_view stages) {
  constexpr std::string_view beyond[] = {"$out",         "$merge\"", "$history", "$diff", "$acrossBranches", "$acrossSnapshots",
                                         "$changeStream"};
  return std::any_of(std::begin(beyond), std::end(beyond),
                     [&](std::string_view name) { return stages.find(name) != stages.npos; });
}

// Returns numbers in documents of their own.
std::string numbered(int count) {
  return "{$limit: 1}, {$project: {i: {$range: [0, " + std::to_string(count) + "]}}}, {$unwind: '$i'}";
}

}  // namespace

TEST_CASE("What is much work is stopped in its midst") {
  Fixture fixture;
  constexpr int time_ms = 50;
  const std::string paths = repeated(20'000, "'$b.nothing'"), element = "{$map: {input: {$range: [0, 100000]}, in: ";
  for (const std::string& stages : {
           "[{$match: {$expr: {$or: [" + paths + "]}}}]",
           "[{$match: {$expr: {$and: [{$or: [" + paths + "]}, true]}}}]",
           "[{$project: {x: {$ifNull: [" + paths + "]}}}]",
           "[{$project: {x: [" + paths + "]}}]",
           "[{$project: {x: {$concat: [" + paths + "]}}}]",
           "[{$project: {x: {$size: " + element + "'$b.nothing'}}}}}]",
           "[{$project: {x: {$size: " + element + "{$getField: {field: 'nothing', input: '$b'}}}}}}}]",
           "[{$project: {x: {$size: " + element + "{$bsonSize: {$cond: [true, '$$ROOT', 1]}}}}}}}]",
           "[{$project: {x: {$size: " + element + "{$bsonSize: {$setField: {field: 'z', input: '$b', value: 1}}}}}}}}]",
           "[{$project: {x: {$size: " + element + "{$size: '$o.k'}}}}}}]",
           "[{$project: {x: {$let: {vars: {r: '$$ROOT'}, in: {$size: " + element + "'$$r.b.nothing'}}}}}}}]",
           "[{$set: {" + fields(20'000, "{$size: '$o.k'}") + "}}]",
           "[" + numbered(20'000) +
               ", {$setWindowFields: {sortBy: {i: 1}, output: {m: {$median: {input: '$i', method: 'approximate'}, "
               "window: {documents: ['unbounded', 'current']}}}}}, {$match: {$expr: {$size: " +
               element + "1}}}}}]",
           "[{$project: {l: 1, t: {$concat: [" + repeated(10, "'$s'") + "]}}}, {$sort: {l: 1, t: 1}}]",
           "[{$redact: {$cond: [{$size: " + element + "'$b.nothing'}}}, '$$DESCEND', '$$PRUNE']}}]",
       }) {
    INFO(stages.substr(0, 200));
    CHECK(fixture.run(aggregate(stages, time_ms)) == time_is_up);
    CHECK(fixture.longest() < longest_passes);
  }
}

TEST_CASE("A specification of many fields is as much work as it is long") {
  Fixture fixture;
  constexpr int count = 60'000, time_ms = 1'000'000;
  const std::string every = fields(count, "1"), computed = fields(count, "{$literal: 1}");
  for (const std::string& stages : {
           "[{$project: {" + every + "}}]",
           "[{$project: {" + fields(count, "0") + "}}]",
           "[{$set: {" + computed + "}}]",
           "[{$set: {b: {" + computed + "}}}]",
           "[{$project: {x: {" + fields(count, "'$a'") + "}}}]",
           "[{$project: {x: {$let: {vars: {" + fields(count, "'$a'") + "}, in: '$$f0'}}}}]",
           "[{$project: {x: {$let: {vars: {" + fields(count, "1") + "}, in: [" + repeated(count / 6, "'$$f0'") + "]}}}}]",
       }) {
    INFO(stages.substr(0, 100));
    CHECK(fixture.run(aggregate(stages, time_ms)) == 0);
    CHECK(fixture.longest() < longest_passes);
  }
  bson::Builder find;
  find.append("find", "c").append("filter", bson::json("{_id: 1}")).append("projection", bson::json("{" + computed + "}"));
  CHECK(fixture.run(find.done()) == 0);
  CHECK(fixture.longest() < longest_passes);
}

TEST_CASE("Pipelines of all stages look at their operation all the time") {
  Fixture fixture;
  constexpr int time_ms = 200;
  constexpr uint64_t seed = 27;
  CAPTURE(seed);
  for (const auto& input : testing::random_choices(seed, 300, 120)) {
    bson::testing::Choices choices(input);
    const bson::Value stages = testing::query_grammar().make("pipeline", choices);
    const std::string text = bson::to_json(stages);
    if (!stages.view().is_array() || is_beyond(text)) continue;
    INFO(text);
    fixture.run(aggregate(stages, time_ms));
    CHECK(fixture.longest() < longest_passes);
  }
}

TEST_CASE("What an operator makes is counted while it grows") {
  Fixture fixture;
  fixture.server.services().memory.limits().operation_bytes_max = 16 << 20;
  constexpr int time_ms = 1'000'000;
  const std::string text =
      "{$reduce: {input: {$range: [0, 17]}, initialValue: '0123456789', in: {$concat: ['$$value', '$$value']}}}";
  // The result is 60 times as large as the input, and few looks are enough to see that it is too much.
  constexpr int64_t most_looks = 2'000;
  for (const std::string& expression : {
           std::string("{$size: {$range: [0, 5000000]}}"),
           "{$size: {$zip: {inputs: [" + repeated(40, "'$l'") + "]}}}",
           "{$size: {$concatArrays: [" + repeated(60, "'$l'") + "]}}",
           "{$strLenBytes: {$concat: [" + repeated(40, text) + "]}}",
           "{$strLenBytes: {$replaceAll: {input: '$s', find: 'b', replacement: " + text + "}}}",
       }) {
    INFO(expression.substr(0, 100));
    CHECK(fixture.run(aggregate("[{$match: {_id: 1}}, {$project: {x: " + expression + "}}]", time_ms)) == no_memory);
    CHECK(fixture.clock.looks() < most_looks);
  }
}

TEST_CASE("An idle cursor whose projection makes small documents takes nothing of the pool") {
  Fixture fixture;
  for (int id = 1; id <= 3; ++id) fixture.server.insert("small", bson::json("{_id: " + std::to_string(id) + ", a: 1, b: 2}"));
  const auto reply = fixture.server.run(bson::json("{find: 'small', projection: {a: 1}, batchSize: 1}"));
  REQUIRE(reply["cursor"].as_document()["id"].to_int64() != 0);
  CHECK(fixture.server.services().memory.used() == 0);
}

TEST_CASE("The document that a projection or $redact makes is counted while it grows") {
  Fixture fixture;
  fixture.server.services().memory.limits().operation_bytes_max = 1 << 20;
  constexpr int time_ms = 1'000'000, divided_by_zero = 2, no_verdict = 17053;
  const auto find = [&](const std::string& projection) {
    bson::Builder command;
    command.append("find", "c").append("filter", bson::json("{_id: 1}")).append("projection", bson::json(projection));
    return fixture.run(command.done());
  };
  REQUIRE(fixture.large.size() > 3 << 19);  // half as much again as the limit
  // The projection writes computed fields last. The fields before them exceed the limit already, so the division is never
  // reached; otherwise the division by zero would be the error. (The reply's own limit would refuse only a complete document.)
  const std::string last_of_all = "x: {$divide: [1, {$subtract: ['$a', 1]}]}}";
  CHECK(find("{a: 1}") == 0);
  CHECK(find("{a: 1, " + last_of_all) == divided_by_zero);
  CHECK(find("{b: 1, l: 1, o: 1, " + last_of_all) == no_memory);
  CHECK(find("{b: 1, l: {$slice: 60000}, 'o.v': 1, " + last_of_all) == no_memory);

  const auto redact = [&](const std::string& rule) {
    return fixture.run(aggregate("[{$match: {_id: 1}}, {$redact: " + rule + "}]", time_ms));
  };
  const std::string last = "{$eq: ['$v', " + std::to_string(many / 6 - 1) + "]}";
  CHECK(redact("{$cond: [{$eq: ['$c', 1]}, '$$PRUNE', '$$DESCEND']}") == no_memory);
  CHECK(redact("{$cond: [" + last + ", 'no verdict', '$$DESCEND']}") == no_memory);
  fixture.server.services().memory.limits().operation_bytes_max = 16 << 20;
  CHECK(redact("{$cond: [" + last + ", 'no verdict', '$$DESCEND']}") == no_verdict);
  CHECK(redact("'$$DESCEND'") == 0);
}

TEST_CASE("The variables of nested lookups are counted") {
  Fixture fixture;
  fixture.server.services().memory.limits().operation_bytes_max = 24 << 20;
  std::string stages = "{$project: {_id: 1}}";
  for (int level = 0; level < 6; ++level) {
    const std::string variable = "v" + std::to_string(level);
    stages = "{$match: {_id: 1}}, {$lookup: {from: 'c', let: {" + variable + ": '$b'}, pipeline: [" + stages +
             "], as: 'r'}}, {$project: {r: 1}}";
  }
  CHECK(fixture.run(aggregate("[" + stages + "]", 1'000'000)) == no_memory);
}

TEST_CASE("A mapReduce counts its groups") {
  Fixture fixture;
  fixture.server.insert("small", "{_id: 1}");
  fixture.server.services().memory.limits().operation_bytes_max = 16 << 20;
  bson::Builder command;
  command.append("mapReduce", "small").append("map", "function() { for (let i = 0; i < 100000; ++i) emit(i, 1); }");
  command.append("reduce", "function(key, values) { return 1; }");
  command.append("out", bson::json("{inline: 1}"));
  CHECK(fixture.run(command.done()) == no_memory);
}

TEST_CASE("Percentiles end at 100 MB of numbers") {
  for (const char* name : {"$median", "$percentile"}) {
    const auto accumulator = make_accumulator(name);
    constexpr int most = (100 << 20) / sizeof(double);
    const bson::Value number(1.5);
    for (int i = 0; i < most; ++i) accumulator->add(number);
    CHECK_THROWS_WITH(accumulator->add(number), Catch::StartsWith(std::string(name) + " used too much memory"));
  }
}

}  // namespace server::query
