#include "storage/engine/disk_space.h"

#include <sys/statvfs.h>

#include <algorithm>

#include "base/error.h"

namespace storage {
namespace {

constexpr uint64_t journal_file_min = 1ull << 20;
constexpr uint64_t journal_file_max = 32ull << 20;
constexpr uint64_t journal_file_share = 64;  // a journal file is at most this fraction of the disk
// The journal may begin a file while it prepares the next one in advance; the rest is for checkpoints.
constexpr uint64_t reserve_files = 4;
// The next checkpoint may still have to write so many bytes that the journal has already; the cache keeps no more.
constexpr uint64_t unwritten_bytes_max = 256ull << 20;

[[noreturn]] void no_space() {
  throw base::OperationError(base::ErrorCode::out_of_disk_space,
                             "available disk space is below the reserve the storage engine needs; no new data is accepted");
}

}  // namespace

DiskSpace::DiskSpace(std::string path) : path_(std::move(path)) {
  look();
}

void DiskSpace::require_room() const {
  if (free_bytes() < reserve_.load(std::memory_order_relaxed)) [[unlikely]]
    no_space();
}

void DiskSpace::require_any() const {
  if (free_bytes() < reserve_.load(std::memory_order_relaxed) / 2) [[unlikely]]
    no_space();
}

uint64_t DiskSpace::journal_file_bytes() const {
  return std::clamp(filesystem_bytes() / journal_file_share, journal_file_min, journal_file_max);
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
  const uint64_t unwritten = written_bytes() - checkpointed_.load(std::memory_order_relaxed);
  reserve_.store(reserve_files * journal_file_bytes() + std::min(unwritten, unwritten_bytes_max), std::memory_order_relaxed);
  free_.store(uint64_t{figures.f_bavail} * figures.f_frsize, std::memory_order_relaxed);
}

}  // namespace storage
