// A backup is written to a folder, which then is a data directory.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "storage/upkeep/backup.h"

namespace storage {

// Returns the path at which a backup may be written: it is absolute, the folder that it lies in exists, and it isn't in the data
// directory. Throws BadValue.
std::filesystem::path backup_path(const Engine& engine, const std::string& folder);

struct BackupFolder {
  size_t files = 0;
  uint64_t bytes = 0;
};

// Makes a backup and copies every file of it to `folder`, an absolute path that doesn't exist yet or is empty; the folder that it
// lies in exists. Files are durable when the function returns. Until then the copy lies in `folder`.partial, which goes if the
// function throws; one that a killed process left is replaced. `copied` is called after each megabyte with the bytes so far and
// all bytes, and may throw. Throws BadValue for a path that can't be used, before anything is done; InternalError or
// OutOfDiskSpace if the file system refuses; and what Backup throws.
BackupFolder back_up_to_folder(Engine& engine, const std::string& folder,
                               const std::function<void(uint64_t done, uint64_t total)>& copied);

}  // namespace storage
