#include "bson/column.h"

#include <catch2/catch.hpp>

#include "base/error.h"
#include "base/testing.h"
#include "bson/builder.h"
#include "bson/testing/column_bytes.h"

namespace bson {
namespace {

using namespace testing;

// The column's values as JSON would show an array; those that are missing are "-".
std::vector<std::string> read(const Bytes& column, size_t values_max = 10'000, size_t bytes_max = 1 << 20) {
  ColumnBudget budget{values_max, bytes_max};
  std::vector<std::string> all;
  const size_t places = read_column(column, budget, [&](size_t place, const ValueView& value) {
    all.resize(place, "-");
    Builder one;
    one.append("v", value);
    const std::string shown = to_shell(one.done());
    all.push_back(shown.substr(5, shown.size() - 7));
  });
  all.resize(places, "-");
  return all;
}
using Shown = std::vector<std::string>;

base::ErrorCode refused(const Bytes& column) {
  return base::testing::error_of([&] { read(column); });
}

TEST_CASE("literals and differences make a column of integers") {
  CHECK(read(column_end).empty());
  CHECK(read(literal("5") + literal("7") + column_end) == Shown{"5", "7"});
  CHECK(read(literal("5") + deltas({1, -7, 0}) + column_end) == Shown{"5", "6", "-1", "-1"});
  // The bytes of a column, written out: int32 5, one word with the slots +1 and -1 of 30 bits, the end.
  const Bytes bytes("\x10\x00\x05\x00\x00\x00\x80\x2d\x00\x00\x00\x04\x00\x00\x00\x00", 16);
  CHECK(read(bytes) == Shown{"5", "6", "5"});
  CHECK(read(literal("NumberLong(9000000000)") + deltas({5}) + column_end) == Shown{"9000000000", "9000000005"});
  CHECK(read(literal("true") + deltas({-1, 1}) + column_end) == Shown{"true", "false", "true"});
  CHECK(read(literal("5") + words(8, {skip_word(), one_delta(2)}) + column_end) == Shown{"5", "-", "7"});
  CHECK(read(words(8, {skip_word()}) + literal("5") + column_end) == Shown{"-", "5"});
  CHECK(read(literal("5") + words(8, {run_word(1)}) + column_end) == Shown(121, "5"));
  CHECK(read(literal("MinKey") + literal("5") + literal("MaxKey") + deltas({0}) + column_end) ==
        Shown{"MinKey", "5", "MaxKey", "MaxKey"});
}

TEST_CASE("runs go on over control bytes, and begin anew at a literal") {
  const Shown shown = read(literal("1") + deltas({1}) + words(8, {run_word(1)}) + column_end);
  REQUIRE(shown.size() == 122);
  CHECK(shown.back() == "122");
  CHECK(read(literal("1") + deltas({1}) + literal("8") + words(8, {run_word(1)}) + column_end).back() == "8");
}

TEST_CASE("dates, timestamps and ObjectIds have differences of differences") {
  CHECK(read(literal("{$date: 1000}") + deltas({10, 0, 5, -15}) + column_end) ==
        Shown{"new Date(1000)", "new Date(1010)", "new Date(1020)", "new Date(1035)", "new Date(1035)"});
  CHECK(read(literal("Timestamp(1, 1)") + deltas({1, 0}) + column_end).size() == 3);
  // The counter's last byte is the second byte of the number, the time's last byte the first.
  CHECK(read(literal("ObjectId('000000010203040506000001')") + deltas({0x101, 0}) + column_end) ==
        Shown{"ObjectId('000000010203040506000001')", "ObjectId('000000020203040506000002')",
              "ObjectId('000000030203040506000003')"});
}

TEST_CASE("doubles have differences of their bits, or of whole numbers") {
  CHECK(read(literal("1.5") + words(0xa, {one_delta(1), one_delta(-20)}) + column_end) == Shown{"1.5", "1.6", "-0.4"});
  CHECK(read(literal("1.0") + words(0x9, {one_delta(1)}) + words(0xd, {one_delta(1)}) + column_end) ==
        Shown{"1.0", "2.0", "2.00000001"});
  CHECK(read(literal("0.25") + words(0x8, {one_delta(int64_t{1} << 52)}) + column_end) == Shown{"0.25", "0.5"});
  CHECK(read(literal("0.25") + words(0xb, {one_delta(50)}) + words(0xc, {one_delta(1)}) + column_end) ==
        Shown{"0.25", "0.75", "0.7501"});
  CHECK(refused(literal("0.25") + words(0xa, {one_delta(1)}) + column_end) == base::ErrorCode::bad_value);
  CHECK(refused(literal("1e300") + words(0x9, {one_delta(1)}) + column_end) == base::ErrorCode::bad_value);
  CHECK(refused(literal("1.0") + words(0xe, {one_delta(1)}) + column_end) == base::ErrorCode::bad_value);
}

TEST_CASE("texts, binary data and decimals are numbers of 128 bits") {
  CHECK(read(literal("'ab'") + deltas({1, 0}) + column_end) == Shown{"\"ab\"", "\"ac\"", "\"ac\""});
  CHECK(read(literal("'z'") + deltas({'1' * 256 + 'a' - 'z'}) + column_end) == Shown{"\"z\"", "\"1a\""});
  CHECK(read(literal("'a'") + deltas({-'a'}) + column_end) == Shown{"\"a\"", "\"\""});
  // A difference of 1 << 64 changes the ninth byte from the end: it is the slot 2 with 16 times four zeros, and no word has more
  // than one such slot of 56 bits.
  CHECK(read(literal("'abcdefghi'") + words(8, {extended_word(8, 13, 56, {uint64_t{2} << 5 | 16})}) + column_end) ==
        Shown{"\"abcdefghi\"", "\"bbcdefghi\""});
  CHECK(read(literal("BinData(0, 'AAE=')") + deltas({1}) + column_end) == Shown{"BinData(0, 0001)", "BinData(0, 0101)"});
  CHECK(read(literal("NumberDecimal('1')") + deltas({1, -2}) + column_end) == Shown{"1", "2", "0"});
  CHECK(read(literal("'a text of more than sixteen bytes'") + deltas({0}) + column_end).size() == 2);
  CHECK(refused(literal("BinData(0, 'AAAAAAAAAAAAAAAAAAAAAAAAAAAA')") + deltas({1}) + column_end) == base::ErrorCode::bad_value);
}

TEST_CASE("values that are no numbers can only be repeated") {
  for (const char* value : {"null", "/x/i", "{a: 1}", "[1]"}) {
    CHECK(read(literal(value) + deltas({0}) + column_end).size() == 2);
    CHECK(refused(literal(value) + deltas({1}) + column_end) == base::ErrorCode::bad_value);
  }
}

TEST_CASE("objects have a series for each field of an example") {
  // {a: 1, b: "x"}, {a: 2}, {a: 3, b: "y"}: the words of a come first, since a wants them first.
  const Bytes column = objects(0xf1, "{a: 0, b: 'x'}") + deltas({1}) + deltas({0}) + deltas({1}) + words(8, {skip_word()}) +
                       deltas({1}) + deltas({1}) + column_end + column_end;
  CHECK(read(column) == Shown{"{ a: 1, b: \"x\" }", "{ a: 2 }", "{ a: 3, b: \"y\" }"});
  // Literals change a field's type; the field's series has more words than the other one.
  CHECK(read(objects(0xf1, "{a: 0, b: 0}") + words(8, {one_delta(1), one_delta(1)}) + literal("'s'") + literal("null") +
             column_end + literal("7") + column_end) == Shown{"{ a: 1, b: \"s\" }", "{ a: 2, b: null }", "7"});
  // A nested object is there if one of its fields is, or if it is empty in the example.
  CHECK(read(objects(0xf1, "{o: {a: 0}, e: {}, l: [1, 2]}") + words(8, {skip_word(), one_delta(0)}) +
             words(8, {one_delta(0), one_delta(4)}) + words(8, {skip_word(), one_delta(0)}) + column_end + column_end) ==
        Shown{"{ e: {}, l: [ 1 ] }", "{ o: { a: 0 }, e: {}, l: [ 5, 2 ] }"});
  CHECK(read(objects(0xf1, "{a: 0}") + words(8, {skip_word()}) + column_end + column_end) == Shown{"-"});
  // Without arrays (f0) an array is a field like others.
  CHECK(read(objects(0xf0, "{l: [1], a: 0}") + deltas({0}) + deltas({1}) + column_end + column_end) ==
        Shown{"{ l: [ 1 ], a: 1 }"});
  CHECK(read(objects(0xf2, "{'0': 1, '1': 5}") + deltas({1}) + deltas({1}) + column_end + column_end) == Shown{"[ 2, 6 ]"});
  // Behind objects a difference of 0 repeats the last one.
  CHECK(read(objects(0xf1, "{a: 0}") + deltas({1}) + column_end + deltas({0}) + column_end) == Shown{"{ a: 1 }", "{ a: 1 }"});
  CHECK(refused(objects(0xf1, "{a: 0}") + deltas({1}) + column_end + deltas({1}) + column_end) == base::ErrorCode::bad_value);
  CHECK(refused(objects(0xf1, "{a: 0, b: 0}") + deltas({1}) + column_end + column_end) == base::ErrorCode::bad_value);
  CHECK(refused(objects(0xf1, "{a: {}}") + column_end + column_end) == base::ErrorCode::bad_value);
}

TEST_CASE("damaged columns are refused") {
  const Bytes whole =
      literal("'ab'") + deltas({1, 5}) + objects(0xf1, "{a: 0, b: 'x'}") + deltas({1}) + deltas({0}) + column_end + column_end;
  REQUIRE(read(whole).size() == 4);
  for (size_t end = 0; end < whole.size(); ++end) {
    INFO("cut at " << end);
    CHECK_THROWS_AS(read(whole.substr(0, end)), base::OperationError);
  }
  CHECK(refused(whole + column_end) == base::ErrorCode::bad_value);
  for (const uint8_t control : {0x20, 0x7f, 0xe0, 0xf3, 0xff})
    CHECK(refused(literal("1") + Bytes(1, static_cast<char>(control)) + Bytes(200, '\0')) == base::ErrorCode::bad_value);
  CHECK(refused(Bytes("\x10\x01", 2) + Bytes(20, '\0')) == base::ErrorCode::bad_value);
  CHECK(refused(Bytes("\x02\x00\xff\xff\xff\x7f", 6) + Bytes(20, '\0')) == base::ErrorCode::invalid_bson);
  CHECK(refused(literal("2147483647") + deltas({1}) + column_end) == base::ErrorCode::bad_value);
  CHECK(refused(literal("true") + deltas({1}) + column_end) == base::ErrorCode::bad_value);
  CHECK(refused(words(8, {one_delta(1)}) + column_end) == base::ErrorCode::bad_value);
}

TEST_CASE("a column can't become more than its budget") {
  std::vector<uint64_t> runs(16, run_word(16));
  Bytes many = literal("1");
  for (int i = 0; i < 1000; ++i) many += words(8, runs);
  CHECK(refused(many + column_end) == base::ErrorCode::bson_object_too_large);
  CHECK_THROWS_AS(read(literal("'" + std::string(1000, 'x') + "'") + words(8, {run_word(1)}) + column_end, 10'000, 50'000),
                  base::OperationError);
  // Fields that are missing cost something, too.
  CHECK_THROWS_AS(read(objects(0xf1, "{a: 1, e: [{}, {}, {}, {}]}") + words(8, runs) + column_end + column_end, 100'000, 50'000),
                  base::OperationError);
  ColumnBudget budget{10, 1000};
  read_column(literal("1") + column_end, budget, [](size_t, const ValueView&) {});
  CHECK(budget.bytes_left < 1000);
}

}  // namespace
}  // namespace bson
