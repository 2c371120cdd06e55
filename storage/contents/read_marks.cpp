#include "storage/contents/read_marks.h"

#include <algorithm>
#include <bit>

namespace storage {

void ReadMarks::turn(int64_t now_us, int64_t secs, int64_t records) {
  Bits* now = current_.load(std::memory_order_relaxed);
  if (now && now_us - turned_us_ < secs * 1'000'000) return;
  const size_t wanted = std::clamp(std::bit_ceil(static_cast<size_t>(std::max<int64_t>(records, 1)) * 2), bits_min, bits_max);
  Bits* next = nullptr;
  for (const auto& one : all_)
    if (one.get() != now && one->mask + 1 >= wanted) next = one.get();
  if (!next) next = all_.emplace_back(std::make_unique<Bits>(wanted)).get();
  next->clear();
  if (!now) begun_us_ = now_us;
  turned_us_ = now_us;
  before_.store(now, std::memory_order_release);
  current_.store(next, std::memory_order_release);
}

void ReadMarks::stop() {
  current_.store(nullptr, std::memory_order_release);
  before_.store(nullptr, std::memory_order_release);
}

size_t ReadMarks::memory_bytes() const {
  size_t bytes = 0;
  for (const auto& one : all_) bytes += (one->mask + 1) / 8;
  return bytes;
}

}  // namespace storage
