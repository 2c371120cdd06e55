#include "dedup/source_selector.h"

#include <algorithm>

namespace dedup {

void rank(std::vector<Candidate>& candidates, const Options& options) {
  const auto score = [&](const Candidate& candidate) {
    return candidate.shared + (candidate.cached ? options.cache_reward : 0) +
           (candidate.superseded ? 0 : options.head_reward);
  };
  std::sort(candidates.begin(), candidates.end(), [&](const Candidate& a, const Candidate& b) {
    if (a.named != b.named) return a.named;
    if (a.named && a.superseded != b.superseded && options.overlap == OverlapPolicy::re_encode) return b.superseded;
    const uint32_t score_a = score(a), score_b = score(b);
    return score_a != score_b ? score_a > score_b : a.id > b.id;
  });
}

}  // namespace dedup
