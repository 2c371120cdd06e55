// An offline check reads a data directory that no server runs on, and changes nothing in it.
//
// The directory is opened through links in a scratch directory (storage/engine/overlay_files.h), so that recovery after a crash
// and everything that an open engine writes goes there. Then every collection is validated as `validate {full: true}` does it,
// and the files of all other tables are read.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "storage/collections/collection.h"
#include "storage/engine/encryption_options.h"
#include "storage/engine/open_file_lock.h"
#include "storage/upkeep/damaged_documents.h"

namespace storage {

class Store;

// While this exists, no server can be started on the directory.
class OfflineHold {
 public:
  // Throws OperationError DBPathInUse (98) if a server runs on the directory, NoSuchKey if it is no data directory.
  explicit OfflineHold(const std::string& directory);
  OfflineHold(const OfflineHold&) = delete;
  OfflineHold& operator=(const OfflineHold&) = delete;

 private:
  std::optional<OpenFileLock> lock_;
};

struct CheckedCollection {
  std::string ns;
  ValidateReport report;
  std::vector<DamagedDocument> damaged;  // the documents that can't be read, at most ten thousand
};

struct CheckReport {
  std::vector<CheckedCollection> collections;  // sorted by name
  struct Table {
    std::string name, problem;
  };
  std::vector<Table> tables;  // of other tables, those that are damaged
  int64_t documents = 0;

  bool sound() const;
};

struct CheckRequest {
  base::Clock& clock;
  std::string directory;
  std::string scratch;  // an empty directory; when the check has ended it holds files that nobody needs
  uint64_t cache_bytes = 256ull << 20;
  EncryptionOptions encryption;
  // Opens what the layers above keep in the store, such as branches, for as long as it lives; nullptr: there is nothing. Without
  // them the collections of a database with branches can't be checked.
  std::function<std::shared_ptr<void>(Store& store)> open_layers;
  // Is called again and again with how many documents were read, and how many there should be. It may throw.
  std::function<void(int64_t done, int64_t total)> progress;
};

// The caller holds the directory (OfflineHold). Throws OperationError: DataCorruptionDetected if the directory is damaged so that
// it can't be opened, others as the constructor of Store. Damage that makes WiredTiger panic ends the process (exit code 14).
CheckReport check_directory(const CheckRequest& request);

}  // namespace storage
