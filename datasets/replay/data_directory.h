// What a server's data directory takes on disk, by what it is for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace datasets::replay {

struct DataDirectory {
  struct File {
    std::string name;  // below the directory
    uint64_t bytes = 0;
  };
  uint64_t data_bytes = 0;  // every file that is not one of the next two
  uint64_t oplog_bytes = 0;
  uint64_t journal_bytes = 0;  // the journal folder, WiredTiger's logs
  std::vector<File> files;     // of data, largest first
};

// `oplog_file` is the name of the oplog's table where the server tells it; files
// whose name begins with "oplog" count as such in any case. Throws
// std::filesystem::filesystem_error when the directory cannot be read.
DataDirectory measure(const std::string& path, const std::string& oplog_file = {});

}  // namespace datasets::replay
