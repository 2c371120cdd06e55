#include "storage/temporary_engine.h"

#include <stdlib.h>

#include "base/error.h"

namespace storage {

namespace fs = std::filesystem;

TemporaryDirectory::TemporaryDirectory() {
  std::string pattern = fs::temp_directory_path() / "palimpsest-test-XXXXXX";
  base::check(mkdtemp(pattern.data()) != nullptr, "no temporary directory");
  path_ = pattern;
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

void TemporaryDirectory::copy_to(const TemporaryDirectory& target) const {
  // The journal last: everything in the data files is in it, and not the other way round. File by file:
  // the engine renames files it has made ahead, and one that is gone must not end the copy.
  for (const bool journal : {false, true}) {
    for (const auto& entry : fs::recursive_directory_iterator(path_)) {
      const fs::path name = fs::relative(entry.path(), path_);
      if (entry.is_directory() || name.has_parent_path() != journal) continue;
      fs::create_directories((fs::path(target.path()) / name).parent_path());
      std::error_code gone;
      fs::copy_file(entry.path(), fs::path(target.path()) / name, fs::copy_options::overwrite_existing, gone);
    }
  }
}

EngineOptions test_options(const std::string& path) {
  EngineOptions options;
  options.path = path;
  options.cache_bytes = 64 << 20;
  options.checkpoint_seconds = 3600;
  return options;
}

}  // namespace storage
