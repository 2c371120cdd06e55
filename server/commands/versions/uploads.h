// Uploads keep packs that come in several commands, each in a temporary file, until they are whole.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>

#include "base/mutex.h"
#include "server/query/stages/spill_file.h"

namespace server {

// This class is thread-safe.
class Uploads {
 public:
  // More uploads at once, or one that nobody goes on with for so long, are refused or forgotten.
  static constexpr size_t count_max = 64;
  static constexpr std::chrono::minutes idle_max{10};

  // An upload that its holder alone uses.
  struct Upload {
    std::string database;
    std::unique_ptr<query::SpillFile> file;
    int64_t bytes = 0;
    std::chrono::steady_clock::time_point used;
  };

  // Takes the upload out, or begins it at offset 0. Throws BadValue if it doesn't go on at `offset`, which after an error it
  // doesn't: it begins anew.
  Upload take(OperationContext& op, const std::string& id, const std::string& database, int64_t offset);
  // Gives it back for the next command.
  void keep(const OperationContext& op, const std::string& id, Upload upload);

 private:
  base::Mutex mutex_;
  std::map<std::string, Upload> waiting_ GUARDED_BY(mutex_);
};

}  // namespace server
