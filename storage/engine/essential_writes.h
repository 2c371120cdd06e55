// A checkpoint that can't write a page ends the process, like a journal that can't be written. While an object of this class
// lives, the thread's writes may use the ballast to its end.
#pragma once

namespace storage {

class EssentialWrites {
 public:
  EssentialWrites() { ++nested(); }
  ~EssentialWrites() { --nested(); }
  EssentialWrites(const EssentialWrites&) = delete;
  EssentialWrites& operator=(const EssentialWrites&) = delete;

  // Returns whether the calling thread has one.
  static bool here() { return nested() > 0; }

 private:
  // WiredTiger's calls on the way to the disk carry nothing of the caller's, so it is the thread that knows.
  static int& nested() {
    thread_local int count = 0;
    return count;
  }
};

}  // namespace storage
