#include "storage/disk_space.h"

#include <sys/statvfs.h>

#include <algorithm>

#include "base/error.h"

namespace storage {
namespace {

// Room for two journal files and a checkpoint of what lies dirty, but not the
// better part of a small disk.
constexpr uint64_t reserve_min = 4ull << 20;
constexpr uint64_t reserve_max = 128ull << 20;
constexpr uint64_t reserve_share = 16;

[[noreturn]] void no_space() {
  throw base::OperationError(base::ErrorCode::out_of_disk_space,
                             "available disk space is below the reserve the storage engine needs; no new data is accepted");
}

}  // namespace

DiskSpace::DiskSpace(std::string path) : path_(std::move(path)) { look(); }

void DiskSpace::require_room() const {
  if (free_bytes() < reserve_.load(std::memory_order_relaxed)) [[unlikely]] no_space();
}

void DiskSpace::require_any() const {
  if (free_bytes() < reserve_.load(std::memory_order_relaxed) / 4) [[unlikely]] no_space();
}

void DiskSpace::wrote(uint64_t bytes) {
  const uint64_t total = written_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  uint64_t next = next_look_.load(std::memory_order_relaxed);
  if (total < next) return;
  if (next_look_.compare_exchange_strong(next, total + look_every_bytes)) look();
}

void DiskSpace::look() {
  struct statvfs figures {};
  if (statvfs(path_.c_str(), &figures) != 0) return;
  const uint64_t total = uint64_t{figures.f_blocks} * figures.f_frsize;
  total_.store(total, std::memory_order_relaxed);
  reserve_.store(std::clamp(total / reserve_share, reserve_min, reserve_max), std::memory_order_relaxed);
  free_.store(uint64_t{figures.f_bavail} * figures.f_frsize, std::memory_order_relaxed);
}

}  // namespace storage
