// The ballast is a file that keeps room on the disk for the engine: no other program can take it.
//
// WiredTiger stops the process when it can't write its journal or a page, and a process that stopped needs room to recover. So
// when the disk refuses WiredTiger's write, a quarter of the ballast is freed, and the write is done again; the last half is for
// the journal and for checkpoints. WiredTiger knows nothing of this: the linker puts the functions at the end of ballast.cpp in
// front of the system calls that take room on a disk (storage/CMakeLists.txt). WiredTiger's own hook, a file system that a
// program brings along, would have to replace all of its code for files.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "base/mutex.h"

namespace storage {

inline constexpr char ballast_file[] = "palimpsest.ballast";

// The class is thread-safe.
class Ballast {
 public:
  // Opens the file in the directory, or makes an empty one. A ballast that can't have a file holds nothing.
  Ballast(const std::string& directory, uint64_t bytes);
  ~Ballast();  // the file stays, so that the next start finds room
  Ballast(const Ballast&) = delete;
  Ballast& operator=(const Ballast&) = delete;

  // Frees a quarter of the whole. Returns false if the ballast holds nothing.
  bool give_up();
  // Takes the whole room. Returns false if the disk or the file system refuses; then the ballast holds what it held.
  bool fill();

  uint64_t whole_bytes() const { return whole_bytes_; }
  uint64_t held_bytes() const;
  uint64_t times_given_up() const;
  bool same_disk(dev_t disk) const { return disk_ == disk; }

 private:
  const uint64_t whole_bytes_;
  int file_ = -1;
  dev_t disk_ = 0;
  mutable base::Mutex mutex_;
  uint64_t held_bytes_ GUARDED_BY(mutex_) = 0;
  uint64_t times_given_up_ GUARDED_BY(mutex_) = 0;
};

}  // namespace storage
