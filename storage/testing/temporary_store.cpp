#include "storage/testing/temporary_store.h"

#include <stdlib.h>

#include <fstream>
#include <set>

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

namespace {

// This state changes with a checkpoint, even with one that has only begun: the journal knows its blocks before any file points to
// them.
std::string state_of(const std::string& path) {
  std::string state;
  std::set<std::string> files;
  for (const auto& entry : fs::directory_iterator(path)) {
    std::error_code gone;
    const auto bytes = fs::file_size(entry.path(), gone);
    const auto written = fs::last_write_time(entry.path(), gone).time_since_epoch().count();
    if (!gone) files.insert(entry.path().filename().string() + " " + std::to_string(bytes) + " " + std::to_string(written));
  }
  for (const std::string& file : files) state += file + "\n";
  files.clear();
  for (const auto& entry : fs::directory_iterator(path + "/journal")) files.insert(entry.path().filename());
  for (const std::string& file : files) {
    if (file.starts_with("WiredTigerLog.")) state += file + " ";
  }
  return state;
}

void copy_files(const std::string& from, const std::string& to) {
  for (const auto& entry : fs::directory_iterator(from)) {
    if (!entry.is_regular_file()) continue;
    std::error_code gone;  // The engine may remove a file meanwhile.
    fs::copy_file(entry.path(), fs::path(to) / entry.path().filename(), fs::copy_options::overwrite_existing, gone);
  }
}

}  // namespace

void TemporaryDirectory::copy_to(const TemporaryDirectory& target) const {
  for (std::string before;;) {
    before = state_of(path_);
    for (const auto& entry : fs::directory_iterator(target.path())) fs::remove_all(entry.path());
    fs::create_directory(target.path() + "/journal");
    // The journal is copied last, so that everything in the data files is also in it.
    copy_files(path_, target.path());
    copy_files(path_ + "/journal", target.path() + "/journal");
    // A checkpoint in between would leave files of two times side by side.
    if (state_of(path_) == before) return;
  }
}

StoreOptions test_options(const std::string& path) {
  StoreOptions options(base::system_clock());
  options.path = path;
  options.cache_bytes = 64 << 20;
  options.checkpoint_seconds = 3600;
  return options;
}

}  // namespace storage
