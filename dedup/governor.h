// The governor turns dedup off where it doesn't pay (dbDedup §4.3.1), and, unlike
// the thesis's, looks again from time to time: workloads change.
//
//   |------ window: 100,000 contents ------|------ window ------|
//   on: judged by all of them                off: the first 1,000 are tried
#pragma once

#include <cstdint>

#include "dedup/options.h"

namespace dedup {

// Not thread-safe.
class Governor {
 public:
  explicit Governor(const Options& options) : options_(options) {}

  enum class Verdict : uint8_t {
    go_on,
    turn_off,  // free the index
  };

  // Is the next content to be encoded?
  bool wants_next() const { return on_ || seen_ < options_.governor_probe_contents; }
  // Every content, tried or not, with the bytes that encoding it saved.
  Verdict saw(uint64_t content_bytes, uint64_t saved_bytes);

  bool on() const { return on_; }

 private:
  const Options options_;
  bool on_ = true;
  uint64_t seen_ = 0;  // contents of this window
  uint64_t content_bytes_ = 0;
  uint64_t saved_bytes_ = 0;
};

}  // namespace dedup
