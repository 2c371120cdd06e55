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
// The lengths of all pieces are known, also of those that are not in the sample. So
// the sample's pieces are weighted by length, so that a long one too many or too
// few counts little.
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
  size_t index_bytes_max = 64 << 20;  // beyond it, chains are forgotten and the advice gets pessimistic
  size_t trial_bytes_max = 64 << 20;  // for the deltas and names of one trial; beyond it the share is halved
  size_t block_bytes = 64 << 10;      // compressed together: comes closest to what files of 32 and 128 KB pages measure
};

// Says what one profile would save on all contents that were shown, going by the sample.
struct TrialResult {
  uint64_t with_source = 0;  // contents that have a similar one
  uint64_t deltas = 0;
  uint64_t stored_bytes = 0;  // after dedup, with the names of rows
  uint64_t block_bytes = 0;   // after block compression too
  double error = 0;           // standard error of stored_bytes, relative: how far pieces of one length differ
  uint32_t hops_max = 0;      // of the sample
  double hops_mean = 0;       // of a read, each content as likely
};

struct Advice {
  uint64_t contents = 0, content_bytes = 0;  // contents shown
  double share = 1;                          // of the chains, in the end
  uint64_t sampled = 0, sampled_bytes = 0;   // contents that count
  uint64_t chains = 0;                       // with at least one of them
  std::vector<TrialResult> trials;           // in the order of the profiles
  // Some runs of contents as they came, compressed in blocks alone.
  uint64_t plain_bytes = 0, plain_block_bytes = 0;
};

// The advisor isn't thread-safe. It takes index_bytes_max of memory, and for each profile trial_bytes_max and the encoder's
// caches.
class Advisor {
 public:
  // `compressed` returns the length that block compression gives these bytes. The same seed draws the same sample.
  Advisor(const AdvisorOptions& options, uint64_t seed, std::function<size_t(BytesView)> compressed);
  ~Advisor();

  struct Seen {
    bool sampled = false;
    std::optional<ContentId> source;  // the source that the first profile chose, always a content that was encoded
  };
  // Shows a content; contents come in the order of their names, all of one collection. `records` is asked for contents that were
  // encoded before.
  Seen add(const ContentId& id, BytesView content, RecordSource& records, Lineage lineage = no_lineage);

  // Finishes the advice. It asks `records` for contents that stay whole, and leaves out those that are gone by now. `between` is
  // called now and then, and may throw.
  Advice finish(RecordSource& records, const std::function<void()>& between = nullptr);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace dedup
