#include "storage/engine/engine_files.h"

#include <algorithm>
#include <filesystem>

#include "storage/engine/directory.h"
#include "storage/engine/unapplied_rows.h"

namespace storage {
namespace {

constexpr std::string_view journal_file = "WiredTigerLog.";
constexpr std::string_view draft_suffix = ".new";
constexpr size_t name_bytes_max = 255;

bool plain(std::string_view name) {
  if (name.empty() || name.size() > name_bytes_max || name.front() == '.') return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
  });
}

// WiredTiger.config is not one of the engine's files: it would change how the engine opens.
bool own_name(std::string_view name) {
  if (name == directory_file || name == directory_copy_file || name == unapplied_file) return true;
  if (name.starts_with("pages-") && name.ends_with(".dict")) return true;
  if (name.ends_with(".wt")) return true;
  return name == "WiredTiger" || (name.starts_with("WiredTiger.") && name != "WiredTiger.config");
}

}  // namespace

bool is_engine_file(std::string_view name) {
  if (const size_t slash = name.find('/'); slash != name.npos) {
    const std::string_view file = name.substr(slash + 1);
    return name.substr(0, slash) == journal_directory && plain(file) && file.starts_with(journal_file);
  }
  return plain(name) && own_name(name);
}

std::vector<std::string> engine_entries(const std::string& directory) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    const std::string name = entry.path().filename();
    std::string_view made = name;
    if (made.ends_with(draft_suffix)) made.remove_suffix(draft_suffix.size());
    if (entry.is_directory() ? name == journal_directory : plain(made) && own_name(made)) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace storage
