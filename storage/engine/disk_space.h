// Stops writing before the disk is full.
//
// WiredTiger survives a full disk when it writes pages, but not when it writes
// its journal. So a reserve is kept free: below it, writes that bring new bytes
// are refused with OutOfDiskSpace, while deletes, drops and checkpoints still
// have room to work.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace storage {

// Thread-safe.
class DiskSpace {
 public:
  explicit DiskSpace(std::string path);

  // Throws OutOfDiskSpace (14031) where the reserve is touched: for what brings new bytes.
  void require_room() const;
  // The same where half of it is gone: for any write.
  void require_any() const;

  // Looks again once much was written.
  void wrote(uint64_t bytes);
  void look();
  // A checkpoint holds all that was written when `written` was read.
  void checkpointed(uint64_t written) { checkpointed_.store(written, std::memory_order_relaxed); }
  uint64_t written_bytes() const { return written_.load(std::memory_order_relaxed); }
  uint64_t filesystem_bytes() const { return total_.load(std::memory_order_relaxed); }
  // How large the journal's files are to be: 32 MB, less where the disk is small.
  uint64_t journal_file_bytes() const;
  uint64_t free_bytes() const { return free_.load(std::memory_order_relaxed); }

 private:
  static constexpr uint64_t look_every_bytes = 2 << 20;

  const std::string path_;
  std::atomic<uint64_t> written_{0};
  std::atomic<uint64_t> checkpointed_{0};
  std::atomic<uint64_t> next_look_{0};
  std::atomic<uint64_t> total_{0};
  std::atomic<uint64_t> free_{0};
  std::atomic<uint64_t> reserve_{0};
};

}  // namespace storage
