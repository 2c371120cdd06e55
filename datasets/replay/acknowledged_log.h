// The acknowledged log is a file that names every write that the server has acknowledged, for crash tests: each must be found
// again whatever happened to the server since.
//
//   <xxh3 of the document, 16 hex digits> <collection> <_id as Extended JSON>\n
//
// A removal has dashes in place of the hash. A batch is appended with one write after its acknowledgement; a last line without
// its end wasn't acknowledged.
#pragma once

#include <optional>
#include <string>

#include "base/mutex.h"
#include "bson/document.h"
#include "bson/value.h"

namespace datasets::replay {

struct Acknowledged {
  uint64_t document = 0;  // removed_hash for a removal
  std::string collection;
  bson::Value id;
};

std::string to_line(const Acknowledged& write);
std::optional<Acknowledged> from_line(std::string_view line);

// It is thread-safe. Throws std::runtime_error when the file can't be written.
class AcknowledgedLog {
 public:
  explicit AcknowledgedLog(const std::string& path);
  ~AcknowledgedLog();
  AcknowledgedLog(const AcknowledgedLog&) = delete;

  void append(std::string_view lines);

 private:
  base::Mutex mutex_;
  const int fd_ GUARDED_BY(mutex_);  // one batch is written at a time, so that its lines stay together
};

}  // namespace datasets::replay
