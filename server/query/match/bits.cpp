// $bitsAllSet, $bitsAllClear, $bitsAnySet and $bitsAnyClear see numbers and binary
// data as rows of bits, the least significant first.
#include <algorithm>
#include <cmath>

#include "server/core/text.h"
#include "server/query/match/parser.h"

namespace server::query::match {

namespace {

using base::ErrorCode;
using base::OperationError;

enum class BitTest { all_set, all_clear, any_set, any_clear };
constexpr const char* bit_test_names[] = {"$bitsAllSet", "$bitsAllClear", "$bitsAnySet", "$bitsAnyClear"};

class Bits : public PathNode {
 public:
  Bits(std::string_view path, BitTest test, std::vector<uint32_t> positions)
      : PathNode(Kind::bits, path, LeafArray::expand), test_(test), positions_(std::move(positions)) {}

  bool matches_value(const bson::ValueView& value) const override {
    if (value.type() == bson::Type::binary) {
      const bson::BytesView bytes = value.as_binary().bytes;
      return test([&](uint32_t position) {
        return position / 8 < bytes.size() && (static_cast<uint8_t>(bytes[position / 8]) >> (position % 8) & 1);
      });
    }
    if (!value.is_number() || !is_whole(value)) return false;
    const int64_t number = value.to_int64();
    // Beyond 64 bits the sign is repeated.
    return test([&](uint32_t position) { return (number >> std::min(position, 63u) & 1) != 0; });
  }

  void append_operator(bson::Builder& out) const override {
    auto array = out.array(bit_test_names[static_cast<int>(test_)]);
    for (uint32_t position : positions_) array.append(static_cast<int32_t>(position));
  }

 private:
  static bool is_whole(const bson::ValueView& value) {
    if (value.is_integer()) return true;
    const double number = value.to_double();
    return std::trunc(number) == number && number >= -9223372036854775808.0 && number < 9223372036854775808.0;
  }

  template <class IsSet>
  bool test(IsSet&& is_set) const {
    switch (test_) {
      case BitTest::all_set: return std::all_of(positions_.begin(), positions_.end(), is_set);
      case BitTest::all_clear: return std::none_of(positions_.begin(), positions_.end(), is_set);
      case BitTest::any_set: return std::any_of(positions_.begin(), positions_.end(), is_set);
      default: return !std::all_of(positions_.begin(), positions_.end(), is_set);
    }
  }

  const BitTest test_;
  const std::vector<uint32_t> positions_;
};

// Returns a whole number >= 0, or throws an error that begins with `what`.
int64_t unsigned_number(const bson::Element& element, const std::string& what, ErrorCode code) {
  if (!element.is_number()) throw OperationError(code, what + "Expected a number in: " + show_element(element));
  const double number = element.to_double();
  if (std::isnan(number)) throw OperationError(code, what + "Expected an integer, but found NaN in: " + show_element(element));
  if (!element.is_integer()) {
    if (std::abs(number) >= 9223372036854775808.0) {
      throw OperationError(code, what + "Cannot represent as a 64-bit integer: " + show_element(element));
    }
    if (std::trunc(number) != number) throw OperationError(code, what + "Expected an integer: " + show_element(element));
  }
  if (number < 0) throw OperationError(code, what + "Expected a non-negative number in: " + show_element(element));
  return element.to_int64();
}

std::vector<uint32_t> parse_positions(const bson::Element& operand) {
  std::vector<uint32_t> positions;
  if (operand.is_array()) {
    for (const bson::Element& entry : operand.as_document()) {
      const int64_t position = unsigned_number(entry, "Failed to parse bit position. ", ErrorCode::bad_value);
      if (position > INT32_MAX) {
        bad_value("Failed to parse bit position. Cannot represent in 32-bit integer: " + show_element(entry));
      }
      positions.push_back(static_cast<uint32_t>(position));
    }
  } else if (operand.is_number()) {
    const int64_t mask = unsigned_number(operand, "", ErrorCode::failed_to_parse);
    for (uint32_t i = 0; i < 63; ++i) {
      if (mask >> i & 1) positions.push_back(i);
    }
  } else if (operand.type() == bson::Type::binary) {
    const bson::BytesView bytes = operand.as_binary().bytes;
    for (uint32_t i = 0; i < bytes.size() * 8; ++i) {
      if (static_cast<uint8_t>(bytes[i / 8]) >> (i % 8) & 1) positions.push_back(i);
    }
  } else {
    bad_value(std::string(operand.name) + " takes an Array, a number, or a BinData but received: " + show_element(operand));
  }
  return positions;
}

template <BitTest test>
NodePtr parse_bits(std::string_view path, const bson::Element& operand, bson::DocumentView, Parsing&) {
  return std::make_unique<Bits>(path, test, parse_positions(operand));
}

constexpr PathOperatorRow path_operators[] = {
    {"$bitsAllSet", parse_bits<BitTest::all_set>},
    {"$bitsAllClear", parse_bits<BitTest::all_clear>},
    {"$bitsAnySet", parse_bits<BitTest::any_set>},
    {"$bitsAnyClear", parse_bits<BitTest::any_clear>},
};

}  // namespace

Family bits_family() {
  return {path_operators, {}};
}

}  // namespace server::query::match
