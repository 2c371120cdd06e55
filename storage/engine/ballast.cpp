#include "storage/engine/ballast.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "storage/engine/essential_writes.h"

extern "C" {
ssize_t __real_pwrite(int file, const void* bytes, size_t count, off_t at);
int __real_fallocate(int file, int mode, off_t from, off_t bytes);
int __real_ftruncate(int file, off_t bytes);
ssize_t __wrap_pwrite(int file, const void* bytes, size_t count, off_t at);
int __wrap_fallocate(int file, int mode, off_t from, off_t bytes);
int __wrap_ftruncate(int file, off_t bytes);
}

namespace storage {
namespace {

constexpr uint64_t parts = 4;  // so many times it can help

// A system call tells no more than a file, so the ballast of its disk is looked up here. Only a full disk takes the mutex.
struct Ballasts {
  base::Mutex mutex;
  std::vector<Ballast*> all GUARDED_BY(mutex);
};

Ballasts& ballasts() {
  static Ballasts* const ballasts = new Ballasts;  // threads may still write while static objects are destroyed
  return *ballasts;
}

// A page that can't be written stays in the cache, but a journal or a checkpoint that can't be written ends the process.
bool is_journal(int file) {
  char path[4096];
  const ssize_t length = ::readlink(("/proc/self/fd/" + std::to_string(file)).c_str(), path, sizeof path);
  return length > 0 && std::string_view(path, static_cast<size_t>(length)).find("/WiredTigerLog.") != std::string_view::npos;
}

bool make_room_for(int file) {
  const int refused = errno;
  struct stat about {};
  bool freed = false;
  if ((refused == ENOSPC || refused == EDQUOT) && ::fstat(file, &about) == 0) {
    const base::MutexLock lock(ballasts().mutex);
    for (Ballast* ballast : ballasts().all) {
      if (freed || !ballast->same_disk(about.st_dev)) continue;
      const bool may = ballast->held_bytes() > ballast->whole_bytes() / 2 || EssentialWrites::here() || is_journal(file);
      freed = may && ballast->give_up();
    }
  }
  errno = refused;
  return freed;
}

}  // namespace

Ballast::Ballast(const std::string& directory, uint64_t bytes) : whole_bytes_(bytes) {
  file_ = ::open((directory + "/" + ballast_file).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  struct stat about {};
  if (file_ < 0 || ::fstat(file_, &about) != 0) return;
  disk_ = about.st_dev;
  // Room that an earlier process had given up is not taken back here: recovery may need it. A sparse file, as some copies
  // of a directory are, holds nothing.
  const bool whole = static_cast<uint64_t>(about.st_blocks) * 512 >= static_cast<uint64_t>(about.st_size);
  const uint64_t held = whole ? std::min(static_cast<uint64_t>(about.st_size), bytes) : 0;
  if (held != static_cast<uint64_t>(about.st_size) && __real_ftruncate(file_, static_cast<off_t>(held)) != 0) return;
  {
    const base::MutexLock lock(mutex_);
    held_bytes_ = held;
  }
  const base::MutexLock lock(ballasts().mutex);
  ballasts().all.push_back(this);
}

Ballast::~Ballast() {
  {
    const base::MutexLock lock(ballasts().mutex);
    std::erase(ballasts().all, this);
  }
  if (file_ >= 0) ::close(file_);
}

bool Ballast::give_up() {
  uint64_t left = 0;
  {
    const base::MutexLock lock(mutex_);
    if (held_bytes_ == 0) return false;
    left = held_bytes_ - std::min(held_bytes_, std::max<uint64_t>(whole_bytes_ / parts, 1));
    if (__real_ftruncate(file_, static_cast<off_t>(left)) != 0) return false;
    held_bytes_ = left;
    times_given_up_ += 1;
  }
  base::log(base::Severity::warning, base::LogComponent::storage, 7200301, "The disk is full; a part of the ballast was freed",
            base::Attributes().add("leftBytes", left));
  return true;
}

bool Ballast::fill() {
  const base::MutexLock lock(mutex_);
  if (held_bytes_ == whole_bytes_) return true;
  if (file_ < 0) return false;
  if (__real_fallocate(file_, 0, 0, static_cast<off_t>(whole_bytes_)) != 0) {
    const int refused = errno;
    const bool shortened = __real_ftruncate(file_, static_cast<off_t>(held_bytes_)) == 0;
    if (!shortened || (refused != ENOSPC && refused != EDQUOT)) {
      base::log(base::Severity::debug1, base::LogComponent::storage, 7200302, "The ballast could not be filled",
                base::Attributes().add("error", std::strerror(refused)));
    }
    return false;
  }
  held_bytes_ = whole_bytes_;
  return true;
}

uint64_t Ballast::held_bytes() const {
  const base::MutexLock lock(mutex_);
  return held_bytes_;
}

uint64_t Ballast::times_given_up() const {
  const base::MutexLock lock(mutex_);
  return times_given_up_;
}

}  // namespace storage

extern "C" {

ssize_t __wrap_pwrite(int file, const void* bytes, size_t count, off_t at) {
  ssize_t written = 0;
  do written = __real_pwrite(file, bytes, count, at);
  while (written < 0 && storage::make_room_for(file));
  return written;
}

int __wrap_fallocate(int file, int mode, off_t from, off_t bytes) {
  int result = 0;
  do result = __real_fallocate(file, mode, from, bytes);
  while (result != 0 && storage::make_room_for(file));
  return result;
}

int __wrap_ftruncate(int file, off_t bytes) {
  int result = 0;
  do result = __real_ftruncate(file, bytes);
  while (result != 0 && storage::make_room_for(file));
  return result;
}
}
