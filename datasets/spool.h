// A temporary file that remembers what was put where; gone with the process.
#pragma once

#include <string>

#include "base/bytes.h"

namespace datasets {

class Spool {
 public:
  // In $TMPDIR or /tmp. Throws InputError when it cannot be made.
  Spool();
  ~Spool();
  Spool(const Spool&) = delete;

  // Where the record now is. Throws InputError when the disk is full.
  uint64_t append(base::BytesView record);
  void read(uint64_t at, base::Bytes& record);

 private:
  void flush();

  static constexpr size_t buffer_max = 1 << 20;
  int fd_;
  uint64_t written_ = 0;
  base::Bytes buffer_;
};

}  // namespace datasets
