// Tests use this for what waits for room in the cache.
#pragma once

#include "storage/testing/temporary_store.h"

namespace storage {

inline StoreOptions options_of_a_small_cache(const std::string& path) {
  StoreOptions options = test_options(path);
  options.cache_bytes = 8 << 20;
  return options;
}

// While this lives, an open transaction holds more than the small cache has room for.
class FullCache {
 public:
  FullCache(Engine& engine, const Table& table) : holder_(engine, Transaction::Mode::write) {
    table.put(holder_, "large", Bytes(10 << 20, 'x'));
  }

 private:
  Transaction holder_;
};

}  // namespace storage
