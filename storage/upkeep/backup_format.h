// A backup as one run of bytes, for a file or a connection (docs/formats/backup.md).
//
//   "PBAK" 01 | frame: head | frame: part | … | frame: end
//   frame   kind 1 | bytes 4 | payload | checksum 8       the checksum is seeded with that of the frame before
//
// The head lists the files as they are at the backup's moment. Parts hold what is written into them: whole files, or the blocks
// that have changed since the backup that this one continues.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "storage/engine/stamps.h"
#include "storage/upkeep/backup.h"

namespace storage {

inline constexpr int backup_format_version = 1;

struct BackupHead {
  struct File : BackupFile {
    bool whole = true;  // Otherwise the parts are changes of the file as the backup before has it.
  };
  BackupLink link;
  int64_t time_ms = 0;      // when the backup was begun, since 1970
  Stamp checkpoint = 0;     // Backup::checkpointed_stamp; 0 on a standalone server
  Stamp log_below = 0;      // the backup has all of the log's entries with lower timestamps; 0: nobody says so
  std::vector<File> files;  // They are sorted by name.
  uint64_t bytes = 0;       // the length of all parts' contents, with zeros
};

struct BackupPart {
  size_t file = 0;  // the place in BackupHead::files
  uint64_t offset = 0;
  base::Bytes data;
  uint64_t zeros = 0;  // so many zeros follow the data
  uint64_t bytes() const { return data.size() + zeros; }
};

// This makes the bytes of one backup, in their order. It isn't thread-safe.
class BackupEncoder {
 public:
  base::Bytes head(const BackupHead& head);  // with the magic bytes
  base::Bytes part(const BackupPart& part);
  base::Bytes end();

 private:
  base::Bytes frame(char kind, base::BytesView payload);
  uint64_t checksum_ = 0;
  uint64_t parts_ = 0, bytes_ = 0;
};

// This reads what an encoder wrote, from any number of pieces, and checks everything: checksums, names, order, places and
// lengths. It isn't thread-safe.
class BackupDecoder {
 public:
  void feed(base::BytesView bytes);
  // Returns the next part that is complete; nullopt: the decoder has to be fed, or the backup has ended. Throws
  // DataCorruptionDetected for bytes that are no backup, and UnsupportedFormat for one of a later version.
  std::optional<BackupPart> next();
  const BackupHead* head() const { return head_ ? &*head_ : nullptr; }  // nullptr: not read yet
  bool ended() const { return ended_; }
  uint64_t bytes() const { return bytes_; }  // the length of the parts that were read

 private:
  std::optional<base::BytesView> frame(char& kind);
  BackupPart decode_part(base::BytesView payload);
  void require_written(size_t file_end) const;

  base::Bytes pending_;
  size_t taken_ = 0;  // so much of `pending_` was read
  bool begun_ = false, ended_ = false;
  std::optional<BackupHead> head_;
  uint64_t checksum_ = 0;
  uint64_t parts_ = 0, bytes_ = 0;
  size_t file_ = 0;       // the file of the last part
  uint64_t written_ = 0;  // where that part ended
};

}  // namespace storage
