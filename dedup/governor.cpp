#include "dedup/governor.h"

#include <algorithm>

namespace dedup {

namespace {

// A probe must do a little better than the limit, or the state would flap.
constexpr double come_back_margin = 1.05;

}  // namespace

Governor::Verdict Governor::saw(uint64_t content_bytes, uint64_t saved_bytes) {
  if (options_.governor_window == 0) return Verdict::go_on;
  const bool tried = wants_next();
  ++seen_;
  if (tried) {
    content_bytes_ += content_bytes;
    saved_bytes_ += std::min(saved_bytes, content_bytes);
  }
  const auto ratio_at_least = [&](double ratio) {
    return static_cast<double>(content_bytes_) >= ratio * static_cast<double>(content_bytes_ - saved_bytes_);
  };
  if (!on_ && seen_ == options_.governor_probe_contents) {
    on_ = ratio_at_least(options_.governor_ratio_min * come_back_margin);
    if (!on_) return Verdict::turn_off;
  }
  if (seen_ < options_.governor_window) return Verdict::go_on;
  const bool turn_off = on_ && !ratio_at_least(options_.governor_ratio_min);
  if (turn_off) on_ = false;
  seen_ = content_bytes_ = saved_bytes_ = 0;
  return turn_off ? Verdict::turn_off : Verdict::go_on;
}

}  // namespace dedup
