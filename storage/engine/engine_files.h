// Which files of a data directory are the engine's.
//
// They are what a backup copies, what a copy may bring, and what goes when a
// copy takes the directory's place. Everything else there (logs, lock and pid
// files, rollback files) belongs to the member that runs on it.
//
//   palimpsest.json  WiredTiger…  *.wt  pages-N.dict  journal/WiredTigerLog.…
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace storage {

inline constexpr std::string_view journal_directory = "journal";

// A name a copy may have: one of the above relative to the directory, never one that leads out of it.
bool is_engine_file(std::string_view name);

// What of the directory's own entries is the engine's: files, drafts of them, and `journal`. Sorted.
std::vector<std::string> engine_entries(const std::string& directory);

}  // namespace storage
