// File blocks let a copy of a file leave out what its receiver has: the receiver sends hashes of the bytes that its own file has
// at the same place, and gets the blocks that differ.
//
//   part     block | block | …       32 KB each, the last one what is left of the part
//   have     SHA-256 of each block of the receiver's part; zeros for a block that its file doesn't have whole
//   same     a bit for each block, lowest first: this hash is right
//   data     the blocks that differ, one after the other
//
// A member that was once made by a copy has most of the other member's blocks: a page that nobody changes stays where it is.
#pragma once

#include <optional>

#include "base/bytes.h"

namespace server::peers {

inline constexpr uint64_t file_block_bytes = 32 << 10;

// Returns `have` for a part of `bytes` bytes, of which the receiver's file has `own`.
base::Bytes block_hashes(base::BytesView own, uint64_t bytes);

struct OtherBlocks {
  base::Bytes same;
  base::Bytes data;
};
// Returns what the sender answers; nullopt: `have` is of a part of another length.
std::optional<OtherBlocks> other_blocks(base::BytesView part, base::BytesView have);

// A part that was put together of two files.
struct JoinedPart {
  base::Bytes part;
  uint64_t own_bytes = 0;  // so many are the receiver's
};
// Returns the sender's part of `bytes` bytes. `own` is what block_hashes got. nullopt: `same` or `data` has another length, or
// takes a block that the receiver hasn't.
std::optional<JoinedPart> join_blocks(base::BytesView own, base::BytesView same, base::BytesView data, uint64_t bytes);

// Returns the checksum of an answer: `zeros` zeros follow `data`, and `same` is empty if the whole part was asked for.
uint64_t part_checksum(base::BytesView same, base::BytesView data, uint64_t zeros);

}  // namespace server::peers
