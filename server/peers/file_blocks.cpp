#include "server/peers/file_blocks.h"

#include <algorithm>
#include <vector>

#include "base/hash.h"
#include "versions/merkle/hash.h"

namespace server::peers {

using base::Bytes;
using base::BytesView;
using versions::merkle::Hash;

namespace {

size_t block_count(uint64_t bytes) {
  return static_cast<size_t>((bytes + file_block_bytes - 1) / file_block_bytes);
}

// Returns the length of a block in a part of `bytes` bytes.
size_t block_length(uint64_t bytes, size_t block) {
  return static_cast<size_t>(std::min(file_block_bytes, bytes - block * file_block_bytes));
}

// Returns the block, if the bytes have all of it.
std::optional<BytesView> block_of(BytesView bytes, size_t block, size_t length) {
  const size_t at = block * file_block_bytes;
  if (bytes.size() < at + length) return std::nullopt;
  return bytes.substr(at, length);
}

}  // namespace

Bytes block_hashes(BytesView own, uint64_t bytes) {
  std::vector<Hash> hashes(block_count(bytes), Hash{});
  std::vector<versions::merkle::Message> messages;
  messages.reserve(hashes.size());
  for (size_t i = 0; i < hashes.size(); ++i) {
    if (const auto block = block_of(own, i, block_length(bytes, i))) messages.push_back({*block, &hashes[i]});
  }
  versions::merkle::sha256_many(messages);
  Bytes out;
  out.reserve(hashes.size() * sizeof(Hash));
  for (const Hash& hash : hashes) out += versions::merkle::view(hash);
  return out;
}

std::optional<OtherBlocks> other_blocks(BytesView part, BytesView have) {
  const size_t blocks = block_count(part.size());
  if (have.size() != blocks * sizeof(Hash)) return std::nullopt;
  const Bytes own = block_hashes(part, part.size());
  OtherBlocks out{Bytes((blocks + 7) / 8, '\0'), {}};
  for (size_t i = 0; i < blocks; ++i) {
    const size_t at = i * sizeof(Hash);
    if (have.substr(at, sizeof(Hash)) == BytesView(own).substr(at, sizeof(Hash)))
      out.same[i / 8] = static_cast<char>(out.same[i / 8] | (1 << (i % 8)));
    else
      out.data += *block_of(part, i, block_length(part.size(), i));
  }
  return out;
}

std::optional<JoinedPart> join_blocks(BytesView own, BytesView same, BytesView data, uint64_t bytes) {
  const size_t blocks = block_count(bytes);
  if (same.size() != (blocks + 7) / 8) return std::nullopt;
  JoinedPart out;
  out.part.reserve(bytes);
  for (size_t i = 0; i < blocks; ++i) {
    const size_t length = block_length(bytes, i);
    if (same[i / 8] >> (i % 8) & 1) {
      const auto block = block_of(own, i, length);
      if (!block) return std::nullopt;
      out.part += *block;
      out.own_bytes += length;
    } else {
      if (data.size() < length) return std::nullopt;
      out.part += data.substr(0, length);
      data.remove_prefix(length);
    }
  }
  if (!data.empty()) return std::nullopt;
  return out;
}

uint64_t part_checksum(BytesView same, BytesView data, uint64_t zeros) {
  const uint64_t of_data = base::hash64(data, zeros);
  return same.empty() ? of_data : base::hash64(same, of_data);
}

}  // namespace server::peers
