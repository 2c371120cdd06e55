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
  // The journal last: everything in the data files is in it, and not the other way round.
  for (const bool journal : {false, true}) {
    for (const auto& entry : fs::directory_iterator(path_)) {
      if ((entry.path().filename() == "journal") != journal) continue;
      std::error_code gone;  // the engine may remove a file meanwhile
      fs::copy(entry.path(), fs::path(target.path()) / entry.path().filename(),
               fs::copy_options::recursive | fs::copy_options::overwrite_existing, gone);
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
