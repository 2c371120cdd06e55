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

// The bits that an operator asks for.
struct Mask {
  std::string bytes;                // from the least significant on
  std::vector<uint32_t> positions;  // those that a list named, instead
};

class Bits : public PathNode {
 public:
  Bits(std::string_view path, BitTest test, Mask mask)
      : PathNode(Kind::bits, path, LeafArray::expand), test_(test), mask_(std::move(mask)) {}

  bool matches_value(const bson::ValueView& value) const override {
    if (value.type() == bson::Type::binary) {
      const bson::BytesView bytes = value.as_binary().bytes;
      return test([&](size_t i) { return i < bytes.size() ? static_cast<uint8_t>(bytes[i]) : uint8_t{0}; });
    }
    if (!value.is_number() || !is_whole(value)) return false;
    const int64_t number = value.to_int64();
    // Beyond 64 bits the sign is repeated.
    return test([&](size_t i) { return static_cast<uint8_t>(number >> (i < 8 ? 8 * i : 63)); });
  }

  void append_operator(bson::Builder& out) const override {
    auto array = out.array(bit_test_names[static_cast<int>(test_)]);
    for (uint32_t position : mask_.positions) array.append(static_cast<int32_t>(position));
    for (size_t i = 0; i < 8 * mask_.bytes.size(); ++i) {
      if (static_cast<uint8_t>(mask_.bytes[i / 8]) >> (i % 8) & 1) array.append(static_cast<int32_t>(i));
    }
  }

 private:
  static bool is_whole(const bson::ValueView& value) {
    if (value.is_integer()) return true;
    const double number = value.to_double();
    return std::trunc(number) == number && number >= -9223372036854775808.0 && number < 9223372036854775808.0;
  }

  // `byte_at` returns the value's byte at an index.
  template <class ByteAt>
  bool test(ByteAt&& byte_at) const {
    const bool wants_set = test_ == BitTest::all_set || test_ == BitTest::any_set;
    const bool wants_any = test_ == BitTest::any_set || test_ == BitTest::any_clear;
    work_on(mask_.bytes.size());
    work(mask_.positions.size() / positions_per_unit);
    const auto fits = [&](size_t i, uint8_t wanted) {
      const uint8_t found = static_cast<uint8_t>((wants_set ? byte_at(i) : ~byte_at(i)) & wanted);
      return wants_any ? found != 0 : found == wanted;
    };
    for (size_t i = 0; i < mask_.bytes.size(); ++i) {
      if (fits(i, static_cast<uint8_t>(mask_.bytes[i])) == wants_any) return wants_any;
    }
    for (const uint32_t position : mask_.positions) {
      if (fits(position / 8, static_cast<uint8_t>(1 << (position % 8))) == wants_any) return wants_any;
    }
    return !wants_any;
  }

  static constexpr size_t positions_per_unit = 16;
  const BitTest test_;
  const Mask mask_;
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

Mask parse_mask(const bson::Element& operand) {
  Mask mask;
  if (operand.is_array()) {
    for (const bson::Element& entry : operand.as_document()) {
      const int64_t position = unsigned_number(entry, "Failed to parse bit position. ", ErrorCode::bad_value);
      if (position > INT32_MAX) {
        bad_value("Failed to parse bit position. Cannot represent in 32-bit integer: " + show_element(entry));
      }
      mask.positions.push_back(static_cast<uint32_t>(position));
    }
  } else if (operand.is_number()) {
    const int64_t bits = unsigned_number(operand, "", ErrorCode::failed_to_parse);
    for (size_t i = 0; i < sizeof bits; ++i) mask.bytes.push_back(static_cast<char>(bits >> (8 * i)));
  } else if (operand.type() == bson::Type::binary) {
    mask.bytes = operand.as_binary().bytes;
  } else {
    bad_value(std::string(operand.name) + " takes an Array, a number, or a BinData but received: " + show_element(operand));
  }
  return mask;
}

template <BitTest test>
NodePtr parse_bits(std::string_view path, const bson::Element& operand, bson::DocumentView, Parsing&) {
  return std::make_unique<Bits>(path, test, parse_mask(operand));
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
