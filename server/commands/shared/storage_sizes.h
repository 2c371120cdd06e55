// These are the sizes of collections on disk, for the commands that show them.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "storage/collections/collection.h"

namespace storage {
class Store;
}

namespace server {

struct StorageSizes {
  int64_t records_bytes = 0;       // the files that hold records
  int64_t records_free_bytes = 0;  // the part of them that is free to be used again
  int64_t indexes_bytes = 0;
  int64_t indexes_free_bytes = 0;

  int64_t total() const { return records_bytes + indexes_bytes; }
  StorageSizes& operator+=(const StorageSizes& more);
};

StorageSizes sizes_of(const storage::Store& store, const storage::Collection& collection);

}  // namespace server
