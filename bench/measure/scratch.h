// A scratch folder holds what a benchmark writes. It is gone with the object, or when the process is interrupted.
#pragma once

#include <optional>
#include <string>

#include "bench/measure/interrupt.h"

namespace bench {

class Scratch {
 public:
  // Makes the folder below `parent`, or below TMPDIR where that is empty. Throws std::runtime_error.
  explicit Scratch(const std::string& parent = {});
  ~Scratch();
  Scratch(const Scratch&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::optional<AtInterrupt> at_interrupt_;
};

}  // namespace bench
