// This is block compression as a storage engine does it: records stand one after another in blocks, and each block is compressed
// alone.
#pragma once

#include "base/bytes.h"

namespace bench {

using base::Bytes;
using base::BytesView;

class BlockCompressor {
 public:
  enum class Method { snappy, zstd };  // zstd at level 3
  BlockCompressor(Method method, size_t block_bytes) : method_(method), block_bytes_(block_bytes) {}

  void add(BytesView record);
  // Returns the compressed bytes of everything added, and begins anew.
  uint64_t finish();

 private:
  void close_block();

  Method method_;
  size_t block_bytes_;
  Bytes block_, compressed_;
  uint64_t total_ = 0;
};

}  // namespace bench
