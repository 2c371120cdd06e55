#include "datasets/replay/data_directory.h"

#include <algorithm>
#include <filesystem>

namespace datasets::replay {
namespace {

bool starts_with(const std::string& text, std::string_view prefix) {
  return text.compare(0, prefix.size(), prefix) == 0;
}

}  // namespace

DataDirectory measure(const std::string& path, const std::string& oplog_file) {
  namespace fs = std::filesystem;
  DataDirectory directory;
  for (const auto& entry : fs::recursive_directory_iterator(path)) {
    std::error_code gone;  // a running server may remove a file meanwhile
    if (!entry.is_regular_file(gone)) continue;
    const uint64_t bytes = entry.file_size(gone);
    if (gone) continue;
    if (entry.path().filename() == "palimpsest.ballast") continue;  // it holds no data, but room
    const std::string name = fs::relative(entry.path(), path).string();
    const std::string base = entry.path().filename().string();
    if (starts_with(name, "journal/") || starts_with(base, "WiredTigerLog.") || starts_with(base, "WiredTigerPreplog.") ||
        starts_with(base, "WiredTigerTmplog.")) {
      directory.journal_bytes += bytes;
    } else if (starts_with(base, "oplog") || (!oplog_file.empty() && base == oplog_file)) {
      directory.oplog_bytes += bytes;
    } else {
      directory.data_bytes += bytes;
      directory.files.push_back({name, bytes});
    }
  }
  std::sort(directory.files.begin(), directory.files.end(),
            [](const auto& a, const auto& b) { return a.bytes != b.bytes ? a.bytes > b.bytes : a.name < b.name; });
  return directory;
}

}  // namespace datasets::replay
