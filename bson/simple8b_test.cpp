#include "bson/simple8b.h"

#include <catch2/catch.hpp>

#include "base/error.h"
#include "bson/testing/column_bytes.h"

namespace bson {
namespace {

using testing::extended_word, testing::run_word, testing::word;

constexpr uint64_t skipped = ~uint64_t{0};

Bytes bytes_of(const std::vector<uint64_t>& words) {
  Bytes bytes;
  for (const uint64_t one : words) base::append_le(bytes, one);
  return bytes;
}

// The slots of 64 bits; those that are skipped are `skipped`.
std::vector<uint64_t> read(const std::vector<uint64_t>& words) {
  const Bytes bytes = bytes_of(words);
  Simple8bReader reader;
  reader.go_on(bytes);
  std::vector<uint64_t> all;
  for (;;) {
    switch (reader.next()) {
      case Simple8bReader::Slot::end: return all;
      case Simple8bReader::Slot::skipped: all.push_back(skipped); break;
      case Simple8bReader::Slot::integer: all.push_back(static_cast<uint64_t>(reader.integer())); break;
    }
  }
}

TEST_CASE("each selector has its number of slots") {
  const std::pair<int, size_t> counts[] = {{1, 60}, {2, 30}, {3, 20}, {4, 15}, {5, 12}, {6, 10}, {7, 8},
                                           {8, 7},  {10, 6}, {12, 5}, {15, 4}, {20, 3}, {30, 2}, {60, 1}};
  int selector = 1;
  for (const auto& [bits, count] : counts) {
    std::vector<uint64_t> slots;
    const uint64_t all = (uint64_t{1} << bits) - 1;
    for (size_t i = 0; i < count; ++i) slots.push_back(bits == 1 ? 0 : i % all);
    INFO("selector " << selector);
    CHECK(read({word(selector, bits, slots)}) == slots);
    slots.back() = all;
    std::vector<uint64_t> expected = slots;
    expected.back() = skipped;
    CHECK(read({word(selector, bits, slots)}) == expected);
    ++selector;
  }
}

TEST_CASE("extensions count the zeros at an integer's end") {
  // Selector 7: 2 bits and a count of 4 bits, in 9 slots.
  CHECK(read({extended_word(7, 1, 6, {1u << 4 | 3, 2u << 4 | 15, 0, 0, 0, 0, 0, 0, 63})}) ==
        std::vector<uint64_t>{1 << 3, 2 << 15, 0, 0, 0, 0, 0, 0, skipped});
  // Selector 8: the count is of four zeros each.
  CHECK(read({extended_word(8, 1, 8, {5u << 4 | 2, 1u << 4 | 15, 0, 0, 0, 0, 0})}) ==
        std::vector<uint64_t>{5 << 8, uint64_t{1} << 60, 0, 0, 0, 0, 0});
  // And from extension 8 on it has 5 bits.
  const Bytes bytes = bytes_of({extended_word(8, 13, 56, {uint64_t{3} << 5 | 31})});
  Simple8bReader reader;
  reader.go_on(bytes);
  REQUIRE(reader.next() == Simple8bReader::Slot::integer);
  CHECK(reader.integer() == Wide{3} << 124);
  CHECK(reader.next() == Simple8bReader::Slot::end);
  const int few[] = {9, 8, 7, 6, 5, 4, 3, 2, 1}, some[] = {7, 6, 5, 4, 3, 2, 1}, many[] = {6, 5, 4, 3, 2, 1};
  for (int i = 0; i < 9; ++i) CHECK(read({extended_word(7, 1 + i, 8, {})}).size() == static_cast<size_t>(few[i]));
  for (int i = 0; i < 7; ++i) CHECK(read({extended_word(8, 1 + i, 8, {})}).size() == static_cast<size_t>(some[i]));
  for (int i = 0; i < 6; ++i) CHECK(read({extended_word(8, 8 + i, 8, {})}).size() == static_cast<size_t>(many[i]));
}

TEST_CASE("a run repeats the slot before it, in other words too") {
  CHECK(read({run_word(1)}) == std::vector<uint64_t>(120, 0));
  CHECK(read({run_word(16)}).size() == 1920);
  std::vector<uint64_t> expected(121, 7);
  CHECK(read({word(14, 60, {7}), run_word(1)}) == expected);
  expected.assign(121, skipped);
  CHECK(read({testing::skip_word(), run_word(1)}) == expected);

  const Bytes first = bytes_of({word(14, 60, {9})}), second = bytes_of({run_word(1)});
  Simple8bReader reader;
  reader.go_on(first);
  while (reader.next() != Simple8bReader::Slot::end) {
  }
  reader.go_on(second);
  REQUIRE(reader.next() == Simple8bReader::Slot::integer);
  CHECK(reader.integer() == 9);
  reader.reset();
  reader.go_on(second);
  REQUIRE(reader.next() == Simple8bReader::Slot::integer);
  CHECK(reader.integer() == 0);
}

TEST_CASE("words without a meaning are refused") {
  CHECK_THROWS_AS(read({0}), base::OperationError);
  for (int extension = 10; extension < 16; ++extension)
    CHECK_THROWS_AS(read({extended_word(7, extension, 8, {})}), base::OperationError);
  for (int extension = 14; extension < 16; ++extension)
    CHECK_THROWS_AS(read({extended_word(8, extension, 8, {})}), base::OperationError);
}

}  // namespace
}  // namespace bson
