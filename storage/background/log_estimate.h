// This class estimates what the log would carry to a secondary: forward deltas instead of contents, collected into batches and
// compressed (dbDedup §5.1; batches of 1 MB, zstd). The class really compresses every eighth batch, and assumes the same share
// for the others.
#pragma once

#include <memory>

#include "dedup/encoder.h"

namespace storage {

struct LogFigures {
  uint64_t entries = 0;
  uint64_t raw_bytes = 0;
  uint64_t forward_bytes = 0;
  uint64_t batches = 0;
  uint64_t batch_bytes = 0;  // These are the bytes in the batches before compression.
  uint64_t zstd_bytes = 0;   // These are the bytes of the batches after compression.

  LogFigures& operator+=(const LogFigures& more);
};

// This class is not thread-safe.
class LogEstimate {
 public:
  LogEstimate();
  ~LogEstimate();
  void add(base::BytesView content, const dedup::Encoding& encoding);
  const LogFigures& figures() const { return figures_; }
  // These figures include the batch that is still open, compressed as it is now. The call costs milliseconds.
  LogFigures figures_now() const;

 private:
  void close_batch();
  size_t compressed() const;

  LogFigures figures_;
  uint64_t sampled_bytes_ = 0, sampled_zstd_bytes_ = 0;
  base::Bytes batch_;
  struct Compressor;
  std::unique_ptr<Compressor> compressor_;
};

}  // namespace storage
