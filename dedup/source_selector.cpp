#include "dedup/source_selector.h"

#include <algorithm>

namespace dedup {

namespace {

struct Better {
  const Options& options;
  uint32_t cache_reward;

  uint32_t score(const Candidate& candidate) const {
    return candidate.shared + (candidate.cached ? cache_reward : 0) + (candidate.superseded ? 0 : options.head_reward);
  }
  bool operator()(const Candidate& a, const Candidate& b) const {
    if (a.named != b.named) return a.named;
    if (a.named && a.superseded != b.superseded && options.overlap == OverlapPolicy::re_encode) return b.superseded;
    const uint32_t score_a = score(a), score_b = score(b);
    return score_a != score_b ? score_a > score_b : a.id > b.id;
  }
};

}  // namespace

void rank(std::vector<Candidate>& candidates, const Options& options) {
  std::sort(candidates.begin(), candidates.end(), Better{options, options.cache_reward});
}

Choice choice_of(const std::vector<Candidate>& ranked, size_t place, const Options& options) {
  if (place > 0) return Choice::tried;
  const Better without_reward{options, 0};
  const bool rewarded =
      std::any_of(ranked.begin() + 1, ranked.end(), [&](const Candidate& one) { return without_reward(one, ranked[0]); });
  return rewarded ? Choice::cached : Choice::match;
}

}  // namespace dedup
