// These functions decide which files of a data directory are the engine's.
//
// A backup copies these files, a copy may add them, and they are removed when a copy takes the directory's place. Everything else
// in the directory (logs, lock and pid files, rollback files) belongs to the member that runs on it.
//
//   palimpsest.json  palimpsest.copy.json  WiredTiger…  *.wt  pages-N.dict  journal/WiredTigerLog.…
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace storage {

inline constexpr std::string_view journal_directory = "journal";

// Returns whether a copy may have a file with this name: it has to be one of the above, relative to the directory, and must not
// lead out of it.
bool is_engine_file(std::string_view name);

// Returns those of the directory's entries that are the engine's, sorted: files, drafts of them, and `journal`.
std::vector<std::string> engine_entries(const std::string& directory);

}  // namespace storage
