// A Verification is on while its thread has WiredTiger verify a file. Then all damage is reported, and the thread may be stopped
// at each block that WiredTiger reads: WiredTiger itself has no way to stop it.
#pragma once

#include <exception>
#include <functional>

namespace storage::wt {

// It belongs to one thread.
class Verification {
 public:
  // `interrupted` is called before blocks are read, and may throw. It may be empty.
  explicit Verification(const std::function<void()>& interrupted);
  ~Verification();
  Verification(const Verification&) = delete;
  Verification& operator=(const Verification&) = delete;

  // Returns the one of this thread; nullptr: it verifies nothing.
  static Verification* current();

  // Returns whether reading ends here. What `interrupted` throws is kept.
  bool stops() noexcept;
  // Throws what was kept.
  void rethrow() const;

 private:
  const std::function<void()>& interrupted_;
  std::exception_ptr thrown_;
};

}  // namespace storage::wt
