#include "base/repeated_failures.h"

#include <utility>

namespace base {

void RepeatedFailures::add(const std::exception& error) {
  if (gathered_.times++ == 0) gathered_.first = error.what();
}

std::optional<RepeatedFailures::Gathered> RepeatedFailures::take_due(int64_t now_us) {
  constexpr int64_t minute_us = 60'000'000;
  if (gathered_.times == 0 || (taken_us_ && now_us - *taken_us_ < minute_us)) return std::nullopt;
  taken_us_ = now_us;
  return std::exchange(gathered_, {});
}

}  // namespace base
