// This is the past as WiredTiger keeps it by itself: rows of bytes under numbers are read as of a pinned timestamp or from a
// named checkpoint.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/random.h"

struct __wt_connection;
struct __wt_session;

namespace bench {

class EnginePast {
 public:
  enum class Way : uint8_t { none, pinned_timestamp, named_checkpoints };

  // Opens it in the folder, which is made. Throws std::runtime_error.
  EnginePast(const std::string& path, Way way, size_t rows, size_t row_bytes);
  ~EnginePast();
  EnginePast(const EnginePast&) = delete;
  EnginePast& operator=(const EnginePast&) = delete;

  // Returns the CPU seconds of one transaction that changes eight bytes of so many rows, the next in a circle.
  double update(size_t rows);
  // Keeps the present state readable from now on. Returns its number, from 1 on.
  int declare();

  // Returns the CPU seconds of reading rows at random, and all of them in order; `as_of` is a number, or 0 for now.
  double find(size_t reads, int as_of);
  double scan(int as_of);

  // Returns the bytes in its files, after a checkpoint, less what is free in them.
  int64_t file_bytes();

 private:
  // Runs `read` on a cursor that shows that moment.
  void reading(int as_of, const std::function<void(void* cursor)>& read);

  const Way way_;
  __wt_connection* connection_ = nullptr;
  __wt_session* session_ = nullptr;
  std::vector<std::string> rows_;
  std::vector<uint64_t> declared_;  // timestamps
  uint64_t clock_ = 1;
  size_t next_ = 0;
  base::Random random_{7};
};

}  // namespace bench
