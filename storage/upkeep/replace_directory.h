// These functions replace the data directory by a copy that lies in it.
//
//   <dbpath>/_sync/…          the copy, file by file
//   <dbpath>/_sync/complete   written last: everything is there, and durable (docs/formats/sync-marker.md)
//   <dbpath>/_sync/placing    the same file, once what was there before has gone
//   <dbpath>/copied           the same file again, until its owner has taken what it carries
//
// This is done before the engine opens. When the process is lost at any step, the next start finishes the work. If `complete`
// isn't there, the copy is removed and the directory stays as it was; if it is there, the copy becomes the directory.
//
// Files that belong to the member and not to its data stay: logs, lock and pid files, rollback files, and everything else that
// isn't the engine's (engine_files.h).
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "storage/upkeep/copy_marker.h"

namespace storage {

inline constexpr char sync_directory[] = "_sync";

// This function makes an empty `_sync` before a copy begins. It throws OperationError.
void begin_copy(const std::string& dbpath);
// The caller calls this function when every file is there and durable. It makes the directory's entries durable, and then the
// marker.
void complete_copy(const std::string& dbpath, const CopyMarker& marker);

enum class Replaced { nothing, removed_incomplete, replaced };
// This function puts a complete copy in place. It throws OperationError when the file system refuses, and DataCorruptionDetected
// when a copy that was already being put in place is damaged. It removes a complete copy that doesn't match its marker; the
// directory then stays. Tests pass `step`, which is called between the changes to the file system.
Replaced place_copy(const std::string& dbpath, const std::function<void()>& step = nullptr);

// This function returns the bytes that the copy now in place carries, until `forget_copied`. It throws DataCorruptionDetected.
std::optional<base::Bytes> copied(const std::string& dbpath);
// The change is durable when the function returns.
void forget_copied(const std::string& dbpath);

}  // namespace storage
