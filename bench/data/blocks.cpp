#include "bench/data/blocks.h"

#include <snappy-c.h>
#include <zstd.h>

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace bench {

void BlockCompressor::add(BytesView record) {
  if (!block_.empty() && block_.size() + record.size() > block_bytes_) close_block();
  block_.append(record);
  if (block_.size() >= block_bytes_) close_block();
}

uint64_t BlockCompressor::finish() {
  close_block();
  return std::exchange(total_, 0);
}

void BlockCompressor::close_block() {
  if (block_.empty()) return;
  size_t bytes = 0;
  if (method_ == Method::snappy) {
    bytes = snappy_max_compressed_length(block_.size());
    compressed_.resize(bytes);
    base::check(snappy_compress(block_.data(), block_.size(), compressed_.data(), &bytes) == SNAPPY_OK, "snappy compresses");
  } else {
    compressed_.resize(ZSTD_compressBound(block_.size()));
    bytes = ZSTD_compress(compressed_.data(), compressed_.size(), block_.data(), block_.size(), 3);
    base::check(!ZSTD_isError(bytes), "zstd compresses");
  }
  total_ += std::min(bytes, block_.size());
  block_.clear();
}

}  // namespace bench
