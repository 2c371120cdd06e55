// A replay runs a workload through an encoder, without a server, to see what dedup alone makes of it.
#pragma once

#include <functional>
#include <memory>

#include "bench/data/memory_records.h"
#include "bench/data/workload.h"

namespace bench::chapter6 {

using dedup::Encoding;
using dedup::Options;
using dedup::Profile;

class Replay {
 public:
  // Versions are found by likeness, or declared by their group.
  enum class Versions { found, declared };
  explicit Replay(const Options& options, Versions versions = Versions::found);

  // Encodes the next record, keeps it, and applies the write-backs.
  const Encoding& step(const Record& record);
  void run(const Workload& workload);

  // Does what a restart does: everything in memory is lost, and the index is filled from the metadata log. Returns CPU seconds.
  double restart();
  // Does what the death of the primary does: a new encoder knows nothing.
  void lose_index();

  dedup::Encoder& encoder() { return *encoder_; }
  MemoryRecords& records() { return records_; }
  const MemoryRecords& records() const { return records_; }
  dedup::EncoderStats stats() const { return encoder_->stats(); }
  uint64_t content_bytes() const { return content_bytes_; }
  uint64_t forward_bytes() const { return forward_bytes_; }  // the bytes that the log carries
  uint64_t write_backs() const { return write_backs_; }
  double encode_cpu_seconds() const { return encode_seconds_; }  // with the decoding of sources

  double ratio() const { return over(records_.stored_bytes()); }
  // Returns content bytes over `bytes`, 0 for none.
  double over(uint64_t bytes) const { return bytes ? static_cast<double>(content_bytes_) / static_cast<double>(bytes) : 0; }

 private:
  Options options_;
  Versions versions_;
  MemoryPages pages_;
  std::unique_ptr<dedup::Encoder> encoder_;
  MemoryRecords records_;
  Encoding last_;
  int64_t next_ = 0;
  uint64_t content_bytes_ = 0, forward_bytes_ = 0, write_backs_ = 0;
  double encode_seconds_ = 0;
};

// Returns the thesis's profile with chunks of that many bytes.
Options thesis(uint32_t chunk_bytes = 64);

}  // namespace bench::chapter6
