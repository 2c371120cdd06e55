// Exact dedup is what we compare with (dbDedup §2.3.1): a content is cut where its bytes say so, every chunk is named
// by its hash, and a chunk that was seen before is kept as a reference to the first one. Servers store nothing this
// way.
//
//   content   |-- chunk --|- chunk -|---- chunk ----|
//   recipe     chunks 7, 8 again    | literal bytes
//
// The comparison favours it: runs of chunks that were neighbours before cost one reference.
#pragma once

#include <unordered_map>
#include <vector>

#include "dedup/chunker.h"
#include "dedup/content.h"

namespace dedup {

struct ExactDedupStats {
  uint64_t contents = 0, content_bytes = 0;
  uint64_t chunks = 0, unique_chunks = 0;
  uint64_t stored_bytes = 0;  // recipes with the literals in them
};

// It isn't thread-safe. It keeps its chunks and recipes in memory, so that contents can be decoded.
class ExactDedup {
 public:
  // The index has an entry for every unique chunk: a 20-byte SHA-1 and where the chunk lies. Here chunks are
  // distinguished by 128 bits of xxh3, and the index is counted as the thesis's.
  static constexpr size_t index_entry_bytes = 20 + 8;

  // `average_bytes` is a power of two.
  explicit ExactDedup(uint32_t average_bytes, ChunkMethod method = ChunkMethod::rabin)
      : average_bytes_(average_bytes), method_(method) {}

  // Returns the recipe as it would be stored; it belongs to the next number, counted from 0.
  BytesView add(BytesView content);
  // Returns the content of that number.
  Bytes content(size_t number) const;

  ExactDedupStats stats() const { return stats_; }
  uint64_t index_bytes() const { return stats_.unique_chunks * index_entry_bytes; }

 private:
  struct Hash {
    uint64_t low, high;
    bool operator==(const Hash&) const = default;
  };
  struct ByLow {
    size_t operator()(const Hash& hash) const { return hash.low; }
  };
  struct Chunk {
    uint32_t recipe;  // the recipe that has it as literal bytes
    uint32_t at, bytes;
  };
  static Hash hash(BytesView chunk);

  uint32_t average_bytes_;
  ChunkMethod method_;
  std::unordered_map<Hash, uint32_t, ByLow> index_;
  std::vector<Chunk> chunks_;
  std::vector<Bytes> recipes_;
  ExactDedupStats stats_;
};

}  // namespace dedup
