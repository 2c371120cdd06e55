// A backup is written to a folder, which then is a data directory.
#pragma once

#include <functional>
#include <string>

#include "storage/upkeep/backup.h"

namespace storage {

// Copies every file of the backup to `folder`, an absolute path that doesn't exist yet or is empty; the folder that it lies in
// exists. Files are durable when the function returns. Until then the copy lies in `folder`.partial, which goes if the function
// throws; one that a killed process left is replaced. `copied` is called after each megabyte with the bytes so far, and may
// throw. Throws BadValue for a path that can't be used, and InternalError or OutOfDiskSpace if the file system refuses.
void copy_to_folder(const Backup& backup, const std::string& dbpath, const std::string& folder,
                    const std::function<void(uint64_t)>& copied);

}  // namespace storage
