// A data directory as the server was at a moment between two backups.
//
//   backup 3 ──────────────── backup 4        the archive
//      │  a  b  c  d  e  f  g    │            the log, which backup 4 has
//      └─ restored, then a b c replayed       the directory as of c
//
// Both backups are restored beside the directory; `palimpsestd`, which has the code that replays a log, then works on the copies.
// Whatever ends this early, the directory isn't there, and what lies beside it is replaced the next time.
#pragma once

#include <filesystem>
#include <string>

#include "storage/engine/encryption_options.h"
#include "storage/engine/record_id.h"
#include "storage/upkeep/backup_archive.h"

namespace client {

struct RestoredMoment {
  storage::ArchivedBackup base;  // the backup that the log was replayed over
  uint64_t log = 0;              // the number of the backup whose log that was
  std::string newest;            // the last entry that is in the directory, as storage::moment_text
  int64_t transactions = 0;      // so many were replayed
};

// Restores the state with all changes up to and including `until` to `target`, which doesn't exist or is empty. Throws
// OperationError: SnapshotTooOld if `until` isn't covered by the backups, and what storage::restore_archive throws; and
// std::runtime_error if the log can't be replayed.
RestoredMoment restore_until(const std::filesystem::path& archive, storage::Stamp until, const std::filesystem::path& target,
                             const storage::EncryptionOptions& encryption);

}  // namespace client
