// A backup copies the data directory while it is in use.
//
//   checkpoint ── backup cursor ── files: name, bytes ── read … read ── gone
//                 |  the journal begins a new file: what is committed until here is in the copy
//
// While a backup is open, WiredTiger overwrites nothing that the copy needs, removes none of its files (a dropped table's files
// go later) and keeps the journal. That costs disk space, so a backup shouldn't stay open for no reason. The backup holds small
// files that change in memory from the start.
//
// When the copied files are put into an empty directory, the engine opens it as after a loss of the process at that moment.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "storage/engine/record_id.h"

namespace storage {

class Engine;

struct BackupFile {
  std::string name;  // The name is relative to the directory: "records-17.wt", "journal/WiredTigerLog.0000000012".
  uint64_t bytes = 0;
};

// A backup can leave out what an earlier one has. WiredTiger remembers which blocks have changed since the last two backups that
// have ids.
struct BackupLink {
  std::string id;    // It is new, and is made of letters, digits and '-'. It is empty if no backup is to continue this one.
  std::string from;  // This is the id of the backup that the new one continues; it is empty for a whole one.
};

struct BackupRange {
  uint64_t offset = 0, bytes = 0;
};

// Several threads may use `files` and `read`. The backup must be destroyed before the engine.
class Backup {
 public:
  static constexpr int32_t already_open = 50886;  // MongoDB's $backupCursor has this number for the error.

  // The constructor takes a checkpoint first. It throws OperationError `already_open` while there is another backup.
  explicit Backup(Engine& engine);
  // Later backups may continue this one. If WiredTiger doesn't know `link.from` any more, the backup becomes a whole one: others
  // were made since, the directory is a copy, or the process ended before the id was in a checkpoint.
  Backup(Engine& engine, const BackupLink& link);
  ~Backup();
  Backup(const Backup&) = delete;
  Backup& operator=(const Backup&) = delete;

  const std::vector<BackupFile>& files() const;  // The files are sorted by name.
  uint64_t total_bytes() const;
  // Returns the link as it became: `from` is empty if the backup is a whole one.
  const BackupLink& link() const;
  // Returns the ranges of a file in which it differs from the file in the backup `link().from`, in order and within its length;
  // nullopt: the file is to be copied as a whole. Files that both don't have are always whole.
  std::optional<std::vector<BackupRange>> changed(const std::string& name) const;
  // On a member of a replica set the copy has all writes up to this timestamp, and no write that isn't majority-committed.
  Stamp checkpointed_stamp() const;
  // This function reads up to `bytes` from `offset` on, and fewer at the file's end as `files` reports it. It throws NoSuchKey
  // for a name that isn't in `files`, and BadValue for an offset beyond the end.
  base::Bytes read(const std::string& name, uint64_t offset, uint64_t bytes) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Makes the next backup a whole one, whichever it would have continued. A repair calls this: WiredTiger doesn't say of files that
// it salvaged what has changed in them.
void forget_backups(Engine& engine);

}  // namespace storage
