// A copy of the data directory while it is in use.
//
//   checkpoint ── backup cursor ── files: name, bytes ── read … read ── gone
//                 |  the journal begins a new file: what is committed until here is in the copy
//
// While one is open WiredTiger overwrites nothing the copy needs, removes none
// of its files (a dropped table's go later) and keeps the journal: it costs disk
// space, so it shouldn't stay open for no reason. Small files that change are
// held in memory from the start.
//
// The copy, put into an empty directory file by file, opens as after the loss of
// the process at that moment.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "storage/engine/record_id.h"

namespace storage {

class Engine;

struct BackupFile {
  std::string name;  // relative to the directory: "records-17.wt", "journal/WiredTigerLog.0000000012"
  uint64_t bytes = 0;
};

// `files` and `read` may be used from several threads. Must be gone before the engine.
class Backup {
 public:
  static constexpr int32_t already_open = 50886;  // as $backupCursor numbers it

  // Takes a checkpoint first. Throws OperationError: `already_open` while there is another one.
  explicit Backup(Engine& engine);
  ~Backup();
  Backup(const Backup&) = delete;
  Backup& operator=(const Backup&) = delete;

  const std::vector<BackupFile>& files() const;  // sorted by name
  uint64_t total_bytes() const;
  // On a member of a replica set: everything stamped up to here is in it, and nothing the set has not agreed on.
  Stamp checkpointed_stamp() const;
  // Up to `bytes` from `offset` on, fewer at the file's end as `files` gives it. Throws NoSuchKey for a name that isn't
  // among them, BadValue for an offset beyond the end.
  base::Bytes read(const std::string& name, uint64_t offset, uint64_t bytes) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace storage
