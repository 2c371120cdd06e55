// This measures what a server's data directory takes on disk, by purpose.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace datasets::replay {

struct DataDirectory {
  struct File {
    std::string name;  // relative to the directory
    uint64_t bytes = 0;
  };
  uint64_t data_bytes = 0;  // every file that isn't one of the next two
  uint64_t oplog_bytes = 0;
  uint64_t journal_bytes = 0;  // the journal folder, WiredTiger's logs
  std::vector<File> files;     // of data, largest first
};

// `oplog_file` is the file of the oplog's table, where the server tells its name; files whose name begins with
// "oplog" count as such in any case. Throws std::filesystem::filesystem_error when the directory can't be
// read.
DataDirectory measure(const std::string& path, const std::string& oplog_file = {});

}  // namespace datasets::replay
