// The input is an answer to a copying member: the number of the part's blocks, which of them the member has, and the others. It
// is refused, or the part has the length that was asked for, and what is sent of it anew makes the same part.
#include "base/fuzz_target.h"
#include "server/peers/file_blocks.h"

namespace {

using namespace server::peers;

constexpr uint64_t blocks_max = 16;
constexpr uint64_t last_bytes = 100;  // of the last block

bool run(base::BytesView input) {
  if (input.size() < 2) return false;
  const uint64_t blocks = static_cast<uint8_t>(input[0]) % blocks_max + 1, bytes = (blocks - 1) * file_block_bytes + last_bytes;
  const size_t same_bytes = std::min<size_t>(static_cast<uint8_t>(input[1]), input.size() - 2);
  const base::BytesView same = input.substr(2, same_bytes), data = input.substr(2 + same_bytes);
  const base::Bytes own(bytes, 'o');
  const auto joined = join_blocks(own, same, data, bytes);
  if (!joined) return false;
  base::check(joined->part.size() == bytes && joined->own_bytes + data.size() == bytes);
  const auto again = other_blocks(joined->part, block_hashes(own, bytes));
  base::check(again.has_value());
  const auto rejoined = join_blocks(own, again->same, again->data, bytes);
  base::check(rejoined && rejoined->part == joined->part);
  return true;
}

std::vector<base::Bytes> seeds() {
  // Three blocks, of which the last differs; and one block.
  return {base::Bytes("\x02\x01\x03", 3) + base::Bytes(last_bytes, 'x'),
          base::Bytes("\x00\x01\x00", 3) + base::Bytes(last_bytes, 'o')};
}

const base::FuzzTarget target("file_blocks", run, seeds);

}  // namespace
