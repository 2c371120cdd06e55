#include "bench/measure/scratch.h"

#include <stdlib.h>

#include <filesystem>
#include <stdexcept>

namespace bench {

Scratch::Scratch(const std::string& parent) {
  namespace fs = std::filesystem;
  path_ = (parent.empty() ? fs::temp_directory_path() : fs::path(parent)) / "palimpsest-bench-XXXXXX";
  if (!mkdtemp(path_.data())) throw std::runtime_error(path_ + ": cannot make a folder for temporary files");
  at_interrupt_.emplace([path = path_] {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  });
}

Scratch::~Scratch() {
  at_interrupt_.reset();
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace bench
