// A mark says something of the work of a thread while an object of it lives. Code that is called through others' interfaces,
// which carry nothing of the caller's, asks for it.
#pragma once

namespace storage {

// `Mark` is the class that inherits this one. Objects may be nested.
template <class Mark>
class ThreadMark {
 public:
  ThreadMark() { ++nested(); }
  ~ThreadMark() { --nested(); }
  ThreadMark(const ThreadMark&) = delete;
  ThreadMark& operator=(const ThreadMark&) = delete;

  // Returns whether the calling thread has one.
  static bool here() { return nested() > 0; }

 private:
  static int& nested() {
    thread_local int count = 0;
    return count;
  }
};

}  // namespace storage
