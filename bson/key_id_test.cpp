#include "bson/key_id.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "base/random.h"
#include "bson/builder.h"
#include "bson/json.h"
#include "bson/keystring.h"

using namespace bson;

namespace {

Bytes key_of(DocumentView id) {
  KeyString key;
  key.append(id.find("_id"));
  return std::move(key).bytes();
}

void check_again(const Document& id) {
  const Bytes key = key_of(id);
  const auto again = id_of_key(key);
  INFO(to_json(id));
  REQUIRE(again);
  CHECK(key_of(*again) == key);
  for (size_t cut = 0; cut < key.size(); ++cut) {
    const auto less = id_of_key(base::BytesView(key).substr(0, cut));
    if (less) CHECK(key_of(*less) == key.substr(0, cut));
  }
  if (const auto more = id_of_key(key + "x")) CHECK(key_of(*more) == key + "x");
}

}  // namespace

TEST_CASE("an _id that is decoded from a key has that key") {
  base::Random random(5);
  for (int i = 0; i < 2000; ++i) {
    const auto bits = static_cast<int64_t>(random() >> random.below(64));
    check_again(Builder().append("_id", random.below(2) ? bits : -bits).done());
    check_again(Builder().append("_id", static_cast<double>(bits) / std::pow(2.0, static_cast<double>(random.below(80)))).done());
    check_again(Builder().append("_id", -std::pow(1.7, static_cast<double>(random.below(1000)))).done());
    Bytes text;
    for (uint64_t left = random.below(20); left > 0; --left)
      text.push_back(static_cast<char>(random.below(random.below(2) ? 3 : 128)));
    check_again(Builder().append("_id", text).done());
    check_again(Builder().append("_id", Binary{static_cast<uint8_t>(random.below(6)), text}).done());
  }
  for (const double value : {0.0, -0.0, std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(),
                             9223372036854775808.0, -1e300, 5e-324}) {
    check_again(Builder().append("_id", value).done());
  }
  for (const int64_t value : {INT64_MAX, INT64_MIN, int64_t{1} << 53, int64_t{0}})
    check_again(Builder().append("_id", value).done());
  check_again(Builder().append("_id", ObjectId::generate()).done());
  check_again(Builder().append("_id", Date{-5}).done());
  check_again(Builder().append("_id", true).done());
  check_again(Builder().append_null("_id").done());
  check_again(Builder().append("_id", Binary{0, Bytes(300, 'x')}).done());
}

TEST_CASE("a key that says less than its _id was, or nothing, is not read") {
  CHECK_FALSE(id_of_key(""));
  CHECK_FALSE(id_of_key("\x01"));
  CHECK_FALSE(id_of_key(key_of(json("{_id: {a: 1}}"))));
  const Bytes one = key_of(json("{_id: 1}"));
  REQUIRE(one == "\x3e\x02");
  CHECK_FALSE(id_of_key(Bytes("\x3f\0\x02", 3)));      // the same number, in two bytes
  CHECK_FALSE(id_of_key(Bytes("\x50\x01\x05\0", 4)));  // a byte that needs no escape
  CHECK_FALSE(id_of_key(key_of(json("{_id: {$numberDecimal: '1.1'}}"))));
  CHECK(id_of_key(key_of(json("{_id: {$numberDecimal: '5.0'}}")))->view().find("_id").as_int32() == 5);
}
