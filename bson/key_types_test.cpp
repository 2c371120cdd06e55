#include "bson/key_types.h"

#include <catch2/catch.hpp>

#include "bson/keystring.h"
#include "bson/test_generators.h"

namespace bson {
namespace {

struct Written {
  Bytes key;
  Bytes types;
};

Written written(const std::vector<Value>& values, const std::vector<bool>& descending) {
  KeyString key;
  KeyTypes types;
  for (size_t i = 0; i < values.size(); ++i) {
    key.append(values[i], descending[i]);
    types.add(values[i]);
  }
  return {std::move(key).bytes(), types.take()};
}

TEST_CASE("a key and its types give the values back, byte for byte, or say that they don't") {
  int told = 0;
  CHECK(rc::check("three values, mixed directions", [&] {
    const std::vector<Value> values = {*arbitrary_value(), *arbitrary_value(), *arbitrary_value()};
    const auto descending = *rc::gen::container<std::vector<bool>>(3, rc::gen::arbitrary<bool>());
    const Written row = written(values, descending);
    if (!has_values(row.types)) return;
    ++told;
    KeyReader reader(row.key, row.types);
    for (size_t i = 0; i < values.size(); ++i) {
      Builder expected, found;
      expected.append("", values[i]);
      RC_ASSERT(!reader.next(descending[i], "", found));
      RC_ASSERT(reader.ok());
      RC_ASSERT(found.done().bytes() == expected.done().bytes());
    }
  }));
  CHECK(told > 0);
  CHECK(rc::check("numbers", [] {
    const Value value = *arbitrary_number();
    const bool descending = *rc::gen::arbitrary<bool>();
    const Written row = written({value}, {descending});
    if (!has_values(row.types)) return;
    KeyReader reader(row.key, row.types);
    Builder expected, found;
    expected.append("n", value);
    RC_ASSERT(!reader.next(descending, "n", found));
    RC_ASSERT(found.done().bytes() == expected.done().bytes());
  }));
}

TEST_CASE("damaged keys and types are read to an end") {
  CHECK(rc::check("bytes changed and cut", [] {
    Written row = written({*arbitrary_value(), *arbitrary_value()}, {false, true});
    const auto spoil = [](Bytes& bytes) {
      for (int i = 0; !bytes.empty() && i < 2; ++i)
        bytes[*rc::gen::inRange<size_t>(0, bytes.size())] = *rc::gen::arbitrary<char>();
      bytes.resize(*rc::gen::inRange<size_t>(0, bytes.size() + 1));
    };
    spoil(row.key);
    spoil(row.types);
    KeyReader reader(row.key, row.types);
    Builder out;
    reader.next(false, "a", out);
    reader.next(true, "b", out);
    (void)out.done();
  }));
}

size_t types_of(const char* json) {
  return written({value_from_json(json).or_throw()}, {false}).types.size();
}

TEST_CASE("usual values need no types") {
  for (const char* json : {"5", "-7", "0", "2.5", "'text'", "null", "true", "{a: 1, b: [1, 2.5]}", "NumberLong('5000000000')",
                           "{$date: '2020-01-01T00:00:00Z'}", "{$numberDouble: 'Infinity'}", "{$numberDouble: 'NaN'}"}) {
    INFO(json);
    CHECK(types_of(json) == 0);
  }
  CHECK(types_of("5.0") == 1);
  CHECK(types_of("NumberLong(5)") == 1);
  CHECK(types_of("[1, 2, 3, 4, 5.0]") == 2);
}

TEST_CASE("what two bits don't say is left to the document") {
  for (const char* json : {"NumberDecimal('1.10')", "{$numberDouble: '-0.0'}", "{$symbol: 'x'}", "[NumberDecimal('0')]"}) {
    INFO(json);
    const Written row = written({value_from_json(json).or_throw()}, {false});
    CHECK(!has_values(row.types));
    Builder out;
    KeyReader reader(row.key, row.types);
    CHECK(!reader.ok());
  }
}

TEST_CASE("missing isn't null") {
  for (bool descending : {false, true}) {
    KeyString key;
    KeyTypes types;
    const Value null = Value::null();
    for (int i = 0; i < 3; ++i) key.append(null, descending);
    types.add(null);
    types.add_missing(0);
    types.add_missing(1);
    const Bytes told = types.take();
    KeyReader reader(key.bytes(), told);
    Builder out;
    CHECK(!reader.next(descending, "a", out));
    CHECK(reader.next(descending, "b", out) == 0);
    CHECK(reader.next(descending, "c", out) == 1);
    CHECK(reader.ok());
    CHECK(to_json(out.done()) == R"({"a": null})");
  }
  KeyTypes types;
  types.add_missing(2);
  CHECK(!has_values(types.take()));
}

}  // namespace
}  // namespace bson
