// The advisor tells what dedup would save on contents that it is shown, at a
// fraction of the work: all are sketched, but only some chains are encoded, and
// those whole.
//
//   content --sketch--> chain, by features in common --its hash below `share`--> scratch encoders
//
// Sampling contents one by one would part versions from each other and find
// nothing; sampling runs of neighbours would miss what lies far apart. A chain is
// in the sample or it isn't, so that each counts as it would in the whole. Chains
// without end (all documents of one form) are cut into pieces, which are in the
// sample or not each for itself; the content after a piece is encoded too, without
// being counted, because the piece's last one would be a delta against it.
//
// How long all pieces are is known, also of those that are not in the sample: the
// sample's are weighted by length, so that a long one too many or too few counts little.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "dedup/encoder.h"

namespace dedup {

struct AdvisorOptions {
  std::vector<Options> profiles;      // one trial each
  double share = 1;                   // of chains to encode, above 0, at most 1
  uint64_t contents_expected = 0;     // for the size of the index
  size_t index_bytes_max = 64 << 20;  // beyond it, chains are forgotten: the advice gets pessimistic
  size_t trial_bytes_max = 64 << 20;  // deltas and names kept for one trial; beyond it the share is halved
  size_t block_bytes = 64 << 10;      // compressed together: comes closest to what files of 32 and 128 KB pages measure
};

// What one profile would make of all contents that were shown, going by the sample.
struct TrialResult {
  uint64_t with_source = 0;  // contents for which a similar one is found
  uint64_t deltas = 0;
  uint64_t stored_bytes = 0;  // after dedup, with what names rows
  uint64_t block_bytes = 0;   // after block compression too
  double error = 0;           // standard error of stored_bytes, relative: how far pieces of one length differ
  uint32_t hops_max = 0;      // of the sample
  double hops_mean = 0;       // of a read, each content as likely
};

struct Advice {
  uint64_t contents = 0, content_bytes = 0;  // shown
  double share = 1;                          // of the chains, in the end
  uint64_t sampled = 0, sampled_bytes = 0;   // contents that count
  uint64_t chains = 0;                       // with at least one of them
  std::vector<TrialResult> trials;           // in the order of the profiles
  // Some runs of contents as they came, by block compression alone.
  uint64_t plain_bytes = 0, plain_block_bytes = 0;
};

// Not thread-safe. Memory: index_bytes_max, and for each profile trial_bytes_max and its own caches.
class Advisor {
 public:
  // `compressed`: the length that block compression gives these bytes. With the same seed, the same sample.
  Advisor(const AdvisorOptions& options, uint64_t seed, std::function<size_t(BytesView)> compressed);
  ~Advisor();

  struct Seen {
    bool sampled = false;
    std::optional<ContentId> source;  // as the first profile chose; always a content that was encoded
  };
  // In the order of their names, all of one collection. `records` is asked for contents encoded before.
  Seen add(const ContentId& id, BytesView content, RecordSource& records, Lineage lineage = no_lineage);

  // Asks `records` for contents that stay whole; those that are gone by now don't count. `between` is called now and
  // then, and may throw.
  Advice finish(RecordSource& records, const std::function<void()>& between = nullptr);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace dedup
