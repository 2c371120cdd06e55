// A BackupStream gives a running server's backup as bytes, piece by piece.
#pragma once

#include <memory>
#include <string>

#include "storage/upkeep/backup_format.h"

namespace storage {

class Engine;

// One thread at a time may use it. It must be destroyed before the engine; while it exists, there is an open Backup.
class BackupStream {
 public:
  // Begins a backup with a new id. It holds what has changed since the backup `from`, or everything if `from` is empty or not
  // known any more. Throws what Backup throws.
  BackupStream(Engine& engine, const std::string& from);
  ~BackupStream();
  BackupStream(const BackupStream&) = delete;
  BackupStream& operator=(const BackupStream&) = delete;

  const BackupHead& head() const { return head_; }
  // Returns the next bytes, at most about a megabyte; nothing: the backup has ended. Throws InternalError if a file can't be
  // read.
  base::Bytes next();
  uint64_t done_bytes() const { return done_; }  // of head().bytes

 private:
  std::optional<BackupPart> next_part();

  const Stamp committed_below_;
  std::unique_ptr<Backup> backup_;
  BackupHead head_;
  BackupEncoder encoder_;
  base::Bytes pending_;  // a long head goes out in pieces
  size_t taken_ = 0;
  bool ended_ = false;
  size_t file_ = 0;
  std::vector<BackupRange> ranges_;  // what is left of that file
  size_t range_ = 0;
  uint64_t done_ = 0;
};

}  // namespace storage
