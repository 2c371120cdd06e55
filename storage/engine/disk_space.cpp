#include "storage/engine/disk_space.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/log.h"

namespace storage {
namespace {

constexpr uint64_t cache_share = 16;
constexpr uint64_t filesystem_share = 16;
constexpr uint64_t reserve_min = 16ull << 20;
constexpr uint64_t reserve_max = 128ull << 20;
constexpr uint64_t reserve_min_anywhere = 4ull << 20;  // on a disk however small
constexpr uint64_t journal_files = 4;
constexpr uint64_t ballast_share = 2;
// So much of the cache is worth a checkpoint to writers that lack room.
constexpr uint64_t worth_share = 8;
// Deletes and drops wait for a checkpoint before less than this is left.
constexpr uint64_t release_share = 4;

// The room below which each use is refused, in the uses' order.
std::array<uint64_t, 4> needs(uint64_t reserve_bytes) {
  return {2 * reserve_bytes, reserve_bytes, reserve_bytes / 2, reserve_bytes / 8};
}

struct Figures {
  uint64_t total = 0, free = 0;
};

bool ask(const std::string& path, Figures& out) {
  struct statvfs figures {};
  if (::statvfs(path.c_str(), &figures) != 0) return false;
  out = {uint64_t{figures.f_blocks} * figures.f_frsize, uint64_t{figures.f_bavail} * figures.f_frsize};
  return true;
}

uint64_t reserve_of(const std::string& path, uint64_t cache_bytes) {
  Figures figures;
  return disk_reserve_bytes(cache_bytes, ask(path, figures) ? figures.total : reserve_max * filesystem_share);
}

}  // namespace

std::string_view name_of(DiskState state) {
  switch (state) {
    case DiskState::plenty: return "plenty";
    case DiskState::low: return "low";
    case DiskState::full: return "full";
    case DiskState::critical: return "critical";
    case DiskState::exhausted: return "exhausted";
  }
  return "";
}

uint64_t disk_reserve_bytes(uint64_t cache_bytes, uint64_t filesystem_bytes) {
  const uint64_t wanted = std::clamp(cache_bytes / cache_share, reserve_min, reserve_max);
  return std::min(wanted, std::max(filesystem_bytes / filesystem_share, reserve_min_anywhere));
}

uint64_t journal_file_bytes(uint64_t reserve_bytes) {
  return reserve_bytes / journal_files;
}

DiskState disk_state(uint64_t room_bytes, uint64_t reserve_bytes, DiskState before) {
  int refused = 0;
  for (const uint64_t need : needs(reserve_bytes)) {
    const bool was_refused = static_cast<int>(before) > refused;
    if (room_bytes >= need + (was_refused ? std::min(need, reserve_bytes) / 4 : 0)) break;
    ++refused;
  }
  return static_cast<DiskState>(refused);
}

DiskState disk_tightness(uint64_t room_bytes, uint64_t reserve_bytes, uint64_t unwritten_bytes) {
  // A few bytes in the cache don't close the gap between "low" and "full": a checkpoint for each of them would take forever.
  if (!worth_a_checkpoint(unwritten_bytes, reserve_bytes)) return DiskState::plenty;
  const DiskState tight = disk_state(room_bytes - std::min(room_bytes, unwritten_bytes), reserve_bytes, DiskState::plenty);
  return tight <= DiskState::low ? DiskState::plenty : tight;
}

bool worth_a_checkpoint(uint64_t bytes, uint64_t reserve_bytes) {
  return bytes >= reserve_bytes / worth_share;
}

DiskSpace::DiskSpace(const std::string& path, uint64_t cache_bytes)
    : path_(path),
      cache_bytes_(cache_bytes),
      reserve_(reserve_of(path, cache_bytes)),
      ballast_(path, reserve_bytes() / ballast_share) {
  look();
}

void DiskSpace::require(DiskUse use) {
  if (allows(use, state_) && (use > DiskUse::growth || allows(use, tight_))) [[likely]]
    return;
  refuse();
}

void DiskSpace::require(DiskUse use, uint64_t bytes) {
  require(use);
  if (bytes >= look_every_bytes && !fits(use, bytes)) refuse();
}

void DiskSpace::require_for_replay(DiskUse use, uint64_t bytes) {
  if (use <= DiskUse::growth && !has_room(DiskUse::change)) refuse();
  require(std::max(use, DiskUse::change), bytes);
}

bool DiskSpace::fits(DiskUse use, uint64_t bytes) {
  const base::MutexLock lock(looking_);
  measure();
  const DiskFigures now = figures();
  if (now.filesystem_bytes == 0) return true;  // nobody can tell
  return now.free_bytes + now.ballast_bytes >= needs(now.reserve_bytes)[static_cast<size_t>(use)] + now.unwritten_bytes + bytes;
}

void DiskSpace::refuse() {
  refused_.fetch_add(1, std::memory_order_relaxed);
  throw base::OperationError(base::ErrorCode::out_of_disk_space,
                             "available disk space is below the reserve the storage engine needs; no new data is accepted");
}

bool DiskSpace::checkpoint_helps() const {
  return worth_a_checkpoint(dirty_bytes_.load(std::memory_order_relaxed), reserve_bytes());
}

void DiskSpace::wrote(uint64_t bytes) {
  const uint64_t total = written_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  uint64_t next = next_look_.load(std::memory_order_relaxed);
  if (total < next) return;
  if (next_look_.compare_exchange_strong(next, total + look_every_bytes)) look();
}

void DiskSpace::look() {
  const base::MutexLock lock(looking_);
  measure();
}

void DiskSpace::checkpointed() {
  const base::MutexLock lock(looking_);
  kept_dirty_ = UINT64_MAX;
  measure();
}

void DiskSpace::measure() {
  Figures figures;
  if (!ask(path_, figures)) return;
  const uint64_t reserve = reserve_bytes();
  // Files that aren't WiredTiger's need a little space as well: the log, for example.
  while (figures.free < reserve / 16 && ballast_.give_up()) {
    if (!ask(path_, figures)) return;
  }
  const uint64_t lacks = ballast_.whole_bytes() - ballast_.held_bytes();
  if (lacks > 0 && figures.free >= reserve + lacks && ballast_.fill() && !ask(path_, figures)) return;
  total_.store(figures.total, std::memory_order_relaxed);
  free_.store(figures.free, std::memory_order_relaxed);

  const uint64_t room = figures.free + ballast_.held_bytes();
  const bool asks = unwritten_ && room < reserve + cache_bytes_;
  const uint64_t dirty = asks ? unwritten_() : 0;
  const int64_t unjournaled = asks ? std::max<int64_t>(unjournaled_.load(std::memory_order_relaxed), 0) : 0;
  const uint64_t unwritten = dirty + static_cast<uint64_t>(unjournaled);
  dirty_bytes_.store(dirty, std::memory_order_relaxed);
  unwritten_bytes_.store(unwritten, std::memory_order_relaxed);
  kept_dirty_ = std::min(kept_dirty_, dirty);
  const DiskState tight = disk_tightness(room, reserve, unwritten);
  tight_.store(tight, std::memory_order_relaxed);
  // If a checkpoint couldn't write much of it, the next one would be in vain, too.
  const bool little_left = room < reserve / release_share + unwritten;
  release_waits_.store(little_left && worth_a_checkpoint(dirty - kept_dirty_, reserve), std::memory_order_relaxed);
  move_to(disk_state(room, reserve, state()));
}

void DiskSpace::move_to(DiskState state) {
  const DiskState before = state_.exchange(state, std::memory_order_relaxed);
  if (before == state) return;
  const bool worse = state > before;
  base::log(worse && state > DiskState::low ? base::Severity::warning : base::Severity::info, base::LogComponent::storage,
            7200303, worse ? "Less disk space is available" : "More disk space is available",
            base::Attributes()
                .add("state", name_of(state))
                .add("before", name_of(before))
                .add("freeBytes", free_.load(std::memory_order_relaxed))
                .add("ballastBytes", ballast_.held_bytes())
                .add("reserveBytes", reserve_bytes()));
}

DiskFigures DiskSpace::figures() const {
  return {.filesystem_bytes = filesystem_bytes(),
          .free_bytes = free_.load(std::memory_order_relaxed),
          .reserve_bytes = reserve_bytes(),
          .ballast_bytes = ballast_.held_bytes(),
          .unwritten_bytes = unwritten_bytes_.load(std::memory_order_relaxed),
          .refused = refused_.load(std::memory_order_relaxed),
          .ballast_given_up = ballast_.times_given_up(),
          .state = state()};
}

}  // namespace storage
