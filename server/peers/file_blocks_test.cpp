#include "server/peers/file_blocks.h"

#include <catch2/catch.hpp>

#include "base/random.h"

using namespace server::peers;
using base::Bytes;

namespace {

Bytes random_bytes(base::Random& random, size_t count) {
  Bytes bytes(count, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random.below(256));
  return bytes;
}

}  // namespace

TEST_CASE("the receiver gets the sender's part, and only the blocks that differ are sent") {
  base::Random random(11);
  for (int round = 0; round < 200; ++round) {
    const Bytes part = random_bytes(random, 1 + random.below(9 * file_block_bytes));
    Bytes own = part;
    const size_t changes = random.below(4);
    for (size_t i = 0; i < changes; ++i) own[random.below(own.size())] ^= 1;
    if (random.below(3) == 0) own.resize(random.below(own.size() + 1));
    if (random.below(3) == 0) own += random_bytes(random, random.below(100));

    uint64_t expected = 0;
    for (size_t at = 0; at < part.size(); at += file_block_bytes) {
      const Bytes block = part.substr(at, file_block_bytes);
      if (own.size() >= at + block.size() && own.compare(at, block.size(), block) == 0) expected += block.size();
    }
    const Bytes have = block_hashes(own, part.size());
    const auto others = other_blocks(part, have);
    REQUIRE(others);
    CHECK(others->data.size() == part.size() - expected);
    const auto joined = join_blocks(own, others->same, others->data, part.size());
    REQUIRE(joined);
    CHECK(joined->part == part);
    CHECK(joined->own_bytes == expected);
  }
}

TEST_CASE("hashes and answers of another length are refused") {
  base::Random random(12);
  const Bytes part = random_bytes(random, 9 * file_block_bytes + 5), own = part.substr(0, part.size() - 1);
  const Bytes have = block_hashes(own, part.size());
  CHECK_FALSE(other_blocks(part, have.substr(1)));
  CHECK_FALSE(other_blocks(part, have + "x"));
  CHECK_FALSE(other_blocks(part.substr(0, 9 * file_block_bytes), have));
  const auto others = other_blocks(part, have);
  REQUIRE(others);
  CHECK(others->data == part.substr(9 * file_block_bytes));
  CHECK_FALSE(join_blocks(own, others->same, others->data + "x", part.size()));
  CHECK_FALSE(join_blocks(own, others->same, others->data.substr(1), part.size()));
  CHECK_FALSE(join_blocks(own, others->same + "x", others->data, part.size()));
  CHECK_FALSE(join_blocks(own, others->same.substr(1), others->data, part.size()));
  CHECK_FALSE(join_blocks(own, Bytes(2, '\xff'), "", part.size()));
}
