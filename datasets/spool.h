// A spool is a temporary file that remembers where each record lies. It is gone with the process.
#pragma once

#include <string>

#include "base/bytes.h"

namespace datasets {

class Spool {
 public:
  // The file lies in $TMPDIR or /tmp. Throws InputError when it can't be made.
  Spool();
  ~Spool();
  Spool(const Spool&) = delete;

  // Returns where the record now is. Throws InputError when the disk is full.
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
