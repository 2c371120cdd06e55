// The input is a compressed column. It is read within a small budget or refused; what it gives is valid, in order, and the same
// when it is read again.
#include "base/fuzz_target.h"
#include "bson/builder.h"
#include "bson/column.h"
#include "bson/testing/column_bytes.h"
#include "bson/validate_value.h"

namespace {

using bson::Bytes;
using bson::BytesView;

constexpr size_t values_max = 5000, bytes_max = 1 << 20;

std::optional<Bytes> read(BytesView column) {
  bson::ColumnBudget budget{values_max, bytes_max};
  Bytes all;
  size_t next = 0, bytes = 0;
  const bool is_refused = base::refuses([&] {
    const size_t places = bson::read_column(column, budget, [&](size_t place, const bson::ValueView& value) {
      base::check(place >= next && place < values_max, "values come in order");
      next = place + 1;
      bytes += value.bytes().size();
      base::check(bytes <= bytes_max, "the budget holds");
      const auto valid = bson::validate_value(value.type(), value.bytes());
      base::check(valid.ok() ? valid.value().bytes().size() == value.bytes().size()
                             : valid.failure().code == base::ErrorCode::overflow || value.is_object() || value.is_array(),
                  "a value is valid, but for levels of objects");
      all.append(std::to_string(place)).append(value.bytes());
    });
    base::check(places >= next && places <= values_max, "no value stands behind the last place");
  });
  return is_refused ? std::nullopt : std::optional(std::move(all));
}

bool run(BytesView input) {
  const auto once = read(input);
  base::check(once == read(input), "a column reads the same twice");
  return once.has_value();
}

std::vector<Bytes> seeds() {
  using namespace bson::testing;
  return {
      literal("5") + deltas({1, -7, 0}) + words(8, {skip_word(), run_word(1)}) + column_end,
      literal("{$date: 1000}") + deltas({10, 0, 5}) + literal("ObjectId('65a0c0ffee65a0c0ffee65a0')") + deltas({257, 0}) +
          column_end,
      literal("1.5") + words(0xa, {one_delta(1)}) + words(0x8, {one_delta(1)}) + literal("true") + deltas({-1}) + column_end,
      literal("'ab'") + deltas({1}) + literal("BinData(0, 'AAE=')") + deltas({1}) + literal("NumberDecimal('1')") +
          words(8, {extended_word(8, 13, 56, {uint64_t{2} << 5 | 1})}) + column_end,
      objects(0xf1, "{a: 0, o: {b: 'x', l: [1, {}]}}") + deltas({1}) + deltas({0}) + deltas({3}) + column_end + deltas({0}) +
          column_end,
      objects(0xf2, "{'0': 1}") + words(8, {extended_word(7, 1, 6, {2u << 4 | 1})}) + column_end + literal("null") + column_end};
}

const base::FuzzTarget target("compressed_column", run, seeds);

}  // namespace
