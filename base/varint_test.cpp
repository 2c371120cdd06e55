#include "base/varint.h"

#include <catch2/catch.hpp>

#include "base/random.h"
#include "base/testing.h"

using namespace base;

TEST_CASE("numbers of any size come back, whatever stands behind them") {
  Random random(testing::seed());
  for (unsigned bits = 0; bits <= 64; ++bits) {
    for (int i = 0; i < 200; ++i) {
      const uint64_t value = bits == 0 ? 0 : random() >> (64 - bits);
      Bytes bytes;
      append_varint(bytes, value);
      CHECK(bytes.size() == varint_bytes(value));
      const size_t length = bytes.size();
      for (uint64_t behind = random.below(12); behind > 0; --behind) bytes.push_back(static_cast<char>(random()));
      BytesView in = bytes;
      CHECK(take_varint(in) == value);
      CHECK(in == BytesView(bytes).substr(length));
      CHECK(unzigzag(zigzag(static_cast<int64_t>(value))) == static_cast<int64_t>(value));
    }
  }
}

TEST_CASE("what is cut short is no number, nor what has more than 64 bits") {
  Bytes bytes;
  append_varint(bytes, UINT64_MAX);
  for (size_t length = 0; length < bytes.size(); ++length) {
    BytesView cut = BytesView(bytes).substr(0, length);
    CHECK_FALSE(take_varint(cut));
  }
  BytesView most("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), more("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02");
  CHECK(take_varint(most) == UINT64_MAX);
  CHECK_FALSE(take_varint(more));
}
