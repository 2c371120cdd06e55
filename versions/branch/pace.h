// A Pace asks now and then whether the merge of a document may go on, and counts what it keeps meanwhile.
#pragma once

#include <algorithm>
#include <functional>

#include "bson/compare.h"
#include "versions/branch/kept_bytes.h"

namespace versions {

class Pace {
 public:
  // nullptr: nobody stops the merge, or nobody counts.
  explicit Pace(const std::function<void()>* interrupted, const Hold* hold = nullptr)
      : interrupted_(interrupted && *interrupted ? interrupted : nullptr), hold_(hold) {}

  // Accounts for one comparison and a copy of so many bytes.
  void step(size_t bytes = 0) {
    constexpr size_t bytes_per_step = 64, steps_between_looks = 20'000;
    steps_ += 1 + bytes / bytes_per_step;
    if (steps_ < steps_between_looks) return;
    steps_ = 0;
    if (interrupted_) (*interrupted_)();
  }

  KeptBytes nothing_kept() const { return hold_ ? KeptBytes(*hold_) : KeptBytes(); }

 private:
  const std::function<void()>* const interrupted_;
  const Hold* const hold_;
  size_t steps_ = 0;
};

// The order of values, for sets and maps: comparisons are the work of these.
struct PacedLess {
  using is_transparent = void;
  Pace* pace;
  bool operator()(const bson::ValueView& a, const bson::ValueView& b) const {
    pace->step(std::min(a.bytes().size(), b.bytes().size()));
    return bson::compare(a, b) < 0;
  }
};

}  // namespace versions
