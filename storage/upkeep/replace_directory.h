// A copied directory takes the place of the one it lies in.
//
//   <dbpath>/_sync/…          the copy, file by file
//   <dbpath>/_sync/complete   written last: everything is there, and durable (docs/formats/sync-marker.md)
//   <dbpath>/_sync/placing    the same file, once what was there before has gone
//   <dbpath>/copied           the same file again, until its owner has taken what it carries
//
// Done before the engine opens. A process lost at any step leaves what the next
// start brings to its end: with `complete` not there the copy goes and the
// directory is as it was; with it the copy will be the directory.
//
// What belongs to the member and not to its data stays: logs, lock and pid
// files, rollback files, everything that isn't the engine's (engine_files.h).
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "storage/upkeep/backup.h"

namespace storage {

inline constexpr char sync_directory[] = "_sync";

// What the marker says.
struct CopyMarker {
  std::vector<BackupFile> files;
  base::Bytes carried;  // its owner's own: nothing here looks into it
  bool operator==(const CopyMarker& other) const;
};

// Before a copy begins: makes an empty `_sync`. Throws OperationError.
void begin_copy(const std::string& dbpath);
// Ends it: every file is there and durable. Makes the directory's entries durable, then the marker.
void complete_copy(const std::string& dbpath, const CopyMarker& marker);

enum class Replaced { nothing, removed_incomplete, replaced };
// Throws OperationError where the file system refuses; DataCorruptionDetected where a copy that had begun to take the
// place is damaged. A complete copy that isn't what its marker says is removed, and the directory stays.
// `step`: called between the changes to the file system; for tests.
Replaced place_copy(const std::string& dbpath, const std::function<void()>& step = nullptr);

// What the copy that is in place now carries, until `forget_copied`. Throws DataCorruptionDetected.
std::optional<base::Bytes> copied(const std::string& dbpath);
// Durable when it returns.
void forget_copied(const std::string& dbpath);

}  // namespace storage
