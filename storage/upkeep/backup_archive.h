// An archive is a folder of backups, of which each holds what has changed since the one before, or everything.
//
//   000001.backup   whole
//   000002.backup   continues 1
//   000003.backup   continues 2
//   000004.backup   whole: the server no longer knew what had changed since 3
//   000005.partial  is being written, or was left by a process that ended
//
// To restore the state of one backup takes the last whole one before it and all between. A file is only added, under its own name
// once it is complete and durable; so whatever happens during a backup, the former ones stay as they are.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "storage/engine/durable_files.h"
#include "storage/upkeep/backup_format.h"

namespace storage {

struct ArchivedBackup {
  uint64_t number = 0;
  std::filesystem::path path;
  BackupHead head;
  uint64_t file_bytes = 0;
};

// Returns the heads of all complete backups in the folder, oldest first; none if the folder doesn't exist. Throws
// DataCorruptionDetected for a file whose head is damaged, and InternalError if one can't be read.
std::vector<ArchivedBackup> archived_backups(const std::filesystem::path& folder);

// Adds one backup to an archive.
class ArchiveWriter {
 public:
  // Makes the folder if it doesn't exist. Throws BadValue for a folder that holds something else than an archive, and
  // ObjectIsBusy while another process adds to it.
  explicit ArchiveWriter(std::filesystem::path folder);
  ~ArchiveWriter();  // removes a backup that wasn't finished
  ArchiveWriter(const ArchiveWriter&) = delete;
  ArchiveWriter& operator=(const ArchiveWriter&) = delete;

  // The id of the newest backup; empty if there is none.
  const std::string& newest() const { return newest_; }
  // Takes the backup's next bytes, and checks them. Throws DataCorruptionDetected, also for one that continues another than the
  // newest.
  void write(base::BytesView bytes);
  const BackupHead* head() const { return decoder_.head(); }  // nullptr: not written yet
  uint64_t bytes() const { return decoder_.bytes(); }         // of head()->bytes, so far
  bool ended() const { return decoder_.ended(); }
  // Makes the backup durable and a part of the archive. Throws DataCorruptionDetected if its end is missing.
  ArchivedBackup finish();

 private:
  void check_head();

  const std::filesystem::path folder_;
  std::string newest_;
  std::vector<BackupHead::File> newest_files_;
  uint64_t number_ = 1;
  std::filesystem::path partial_;
  std::optional<DurableFile> file_;
  BackupDecoder decoder_;
  bool head_checked_ = false;
  bool finished_ = false;
};

// Puts backups together to a data directory.
class BackupRestorer {
 public:
  // `target` doesn't exist yet or is empty. Throws BadValue for another.
  explicit BackupRestorer(const std::filesystem::path& target);

  // Applies the bytes of one backup; the first is a whole one, and each other one continues the one before. Throws
  // DataCorruptionDetected.
  void begin();
  void write(base::BytesView bytes);
  void end();
  const BackupHead* head() const { return decoder_.head(); }
  // Makes the directory durable and moves it to its place.
  void complete();

 private:
  void open(const BackupHead& head, size_t file);
  void check_head(const BackupHead& head);

  PartialFolder partial_;
  BackupDecoder decoder_;
  bool head_checked_ = false;
  std::string last_id_;
  std::vector<std::string> names_;  // the files of the backup before, sorted
  std::optional<DurableFile> file_;
  size_t file_number_ = 0;
};

struct Restored {
  ArchivedBackup backup;
  size_t backups = 0;  // so many were put together
};

// Restores the state of backup `number` (0: the newest) to `target`, from the archive. `done` is called again and again with the
// bytes of the archive's files that were read, and all that are to be; it may throw. Throws NoSuchKey if the archive has no such
// backup, and what BackupRestorer throws.
Restored restore_archive(const std::filesystem::path& archive, uint64_t number, const std::filesystem::path& target,
                         const std::function<void(uint64_t done, uint64_t total)>& done);

}  // namespace storage
