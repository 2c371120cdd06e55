// What the log would carry to a secondary: forward deltas instead of contents,
// gathered into batches and compressed (dbDedup §5.1; batches of 1 MB, zstd). Every
// eighth batch is really compressed, the others by the same share.
#pragma once

#include <memory>

#include "dedup/encoder.h"

namespace storage {

struct LogFigures {
  uint64_t entries = 0;
  uint64_t raw_bytes = 0;
  uint64_t forward_bytes = 0;
  uint64_t batches = 0;
  uint64_t batch_bytes = 0;  // in them
  uint64_t zstd_bytes = 0;   // and what became of them

  LogFigures& operator+=(const LogFigures& more);
};

// Not thread-safe.
class LogEstimate {
 public:
  LogEstimate();
  ~LogEstimate();
  void add(base::BytesView content, const dedup::Encoding& encoding);
  const LogFigures& figures() const { return figures_; }
  // With the batch that is still open, compressed as it stands: costs milliseconds.
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
