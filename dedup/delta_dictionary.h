// A trainer makes a dictionary for the entropy stage out of a sample of deltas.
//
// The sample is drawn evenly from all that was seen (reservoir sampling: Vitter 1985, algorithm R),
// so that it stands for the collection however long it grows. It has no clock, files or threads:
// the caller decides when to train, stores the dictionary under a new version and gives it to its
// coder.
#pragma once

#include <optional>
#include <vector>

#include "base/random.h"
#include "dedup/content.h"

namespace dedup {

class EntropyCoder;

struct DictionaryOptions {
  size_t dictionary_bytes = 32 << 10;
  size_t samples_wanted = 2000;
  size_t sample_bytes_max = 2048;  // of one delta; its front counts
};

class DictionaryTrainer {
 public:
  explicit DictionaryTrainer(uint64_t seed, const DictionaryOptions& options = {});

  void see(BytesView delta);

  // Tells whether enough was seen.
  bool ready() const { return samples_.size() >= options_.samples_wanted; }
  size_t samples() const { return samples_.size(); }
  uint64_t seen() const { return seen_; }
  size_t memory_bytes() const { return bytes_; }

  // Makes a dictionary from what was seen so far, ready or not: the same bytes from the same sample. Returns nullopt where there
  // is too little to learn from. It takes some 10 ms a megabyte.
  std::optional<Bytes> train() const;

  // Returns the bytes that the sample takes with this coder, to tell whether a dictionary is still good, or a new one better.
  // Deltas that don't get smaller count unpacked.
  size_t packed_bytes(const EntropyCoder& coder) const;

  // Forgets the sample, to learn a new one.
  void clear();

 private:
  const DictionaryOptions options_;
  base::Random random_;
  std::vector<Bytes> samples_;
  uint64_t seen_ = 0;
  size_t bytes_ = 0;
};

}  // namespace dedup
