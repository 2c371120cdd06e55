// A lock of an open file, not of the process: the process may open and close the same file elsewhere. WiredTiger locks its own
// file WiredTiger.lock while a directory is open, so a lock of that file keeps others from opening the directory.
#pragma once

#include <string>

namespace storage {

class OpenFileLock {
 public:
  enum class Kind { shared, exclusive };

  // Doesn't wait, and doesn't throw. A file that doesn't exist has nobody who holds it, and there is nothing to lock.
  OpenFileLock(const std::string& path, Kind kind);
  ~OpenFileLock();
  OpenFileLock(const OpenFileLock&) = delete;
  OpenFileLock& operator=(const OpenFileLock&) = delete;

  bool held() const { return held_; }
  // Returns why the file can't be opened, as errno does; 0: it can.
  int error() const { return error_; }

 private:
  int file_ = -1;
  int error_ = 0;
  bool held_ = false;
};

}  // namespace storage
