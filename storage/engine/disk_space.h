// The server stops writing before the disk is full.
//
// WiredTiger survives a full disk when it writes pages, but not when it writes its journal. So a reserve is kept free. When less
// is free, writes that add bytes are refused with OutOfDiskSpace, while deletes, drops and checkpoints still have room to work.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace storage {

// The class is thread-safe.
class DiskSpace {
 public:
  explicit DiskSpace(std::string path);

  // Throws OutOfDiskSpace (14031) if less than the reserve is free. Operations that add bytes call it.
  void require_room() const;
  // Throws the same error if less than half of the reserve is free. Any write calls it.
  void require_any() const;

  // Counts the bytes that were written, and measures the free space again once they are many.
  void wrote(uint64_t bytes);
  void look();
  // Records that a checkpoint holds everything that had been written when the caller read `written`.
  void checkpointed(uint64_t written) { checkpointed_.store(written, std::memory_order_relaxed); }
  uint64_t written_bytes() const { return written_.load(std::memory_order_relaxed); }
  uint64_t filesystem_bytes() const { return total_.load(std::memory_order_relaxed); }
  // Returns the size that the journal's files shall have: 32 MB, or less if the disk is small.
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
