#include "dedup/governor.h"

#include <algorithm>

#include "base/hash.h"

namespace dedup {

namespace {

// A probe must do a little better than the limit, or the state would switch to and fro.
constexpr double come_back_margin = 1.05;
constexpr uint64_t turns_a_window = 10;

}  // namespace

const char* to_string(GovernorReason reason) {
  switch (reason) {
    case GovernorReason::not_judged: return "the first window is not over";
    case GovernorReason::pays: return "the last window saved enough";
    case GovernorReason::came_back: return "a probe saved enough";
    case GovernorReason::never_judges: return "no window is set";
    case GovernorReason::ratio_too_low: return "the last window saved too little";
    case GovernorReason::probe_too_low: return "the last probe saved too little";
    case GovernorReason::none_probed: return "nothing came that belonged to the last probe";
    case GovernorReason::switched_off: return "switched off";
  }
  return "";
}

void Governor::set_options(const Options& options) {
  enabled_ = options.enabled;
  ratio_min_ = options.governor_ratio_min;
  window_ = options.governor_window;
  const uint64_t probe = std::min(options.governor_probe_contents, window_);
  probe_share_ =
      window_ ? static_cast<uint64_t>(static_cast<double>(probe) / static_cast<double>(window_) * 0x1.fffffffffffp63) : 0;
  if (window_ == 0) on_ = true;
}

bool Governor::probes(uint64_t chain_hash) const {
  if (on_ || probe_share_ == 0) return false;
  const auto drawn = [&](uint64_t seed) {
    return base::hash64({reinterpret_cast<const char*>(&chain_hash), sizeof chain_hash}, seed) <= probe_share_ / 2;
  };
  return drawn(0) || drawn(1 + turn_);
}

double Governor::ratio() const {
  if (content_bytes_ == 0) return 0;
  return static_cast<double>(content_bytes_) / static_cast<double>(std::max<uint64_t>(content_bytes_ - saved_bytes_, 1));
}

Governor::Verdict Governor::saw(bool tried, uint64_t content_bytes, uint64_t saved_bytes) {
  if (window_ == 0) return Verdict::go_on;
  ++seen_;
  if (seen_ % std::max<uint64_t>(1, window_ / turns_a_window) == 0) ++turn_;
  if (tried) {
    content_bytes_ += content_bytes;
    saved_bytes_ += std::min(saved_bytes, content_bytes);
  }
  if (seen_ < window_) return Verdict::go_on;
  judged_ = ratio();
  if (on_) {
    on_ = judged_ >= ratio_min_;
    reason_ = on_ ? GovernorReason::pays : GovernorReason::ratio_too_low;
  } else {
    on_ = judged_ >= ratio_min_ * come_back_margin;
    reason_ = on_ ? GovernorReason::came_back : content_bytes_ == 0 ? GovernorReason::none_probed : GovernorReason::probe_too_low;
  }
  seen_ = content_bytes_ = saved_bytes_ = 0;
  return on_ ? Verdict::go_on : Verdict::turn_off;
}

GovernorState Governor::state() const {
  GovernorState state{on_, reason_, judged_, ratio(), window_ ? window_ - seen_ : 0};
  if (window_ == 0) state.reason = GovernorReason::never_judges;
  if (!enabled_) state.on = false, state.reason = GovernorReason::switched_off;
  return state;
}

}  // namespace dedup
