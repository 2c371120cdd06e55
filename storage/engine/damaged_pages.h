// A page whose bytes on disk are not those that were written fails the operations that need it, and nothing else.
//
// WiredTiger gives up the whole connection (it panics) when an ordinary read meets a wrong checksum or a block that can't be
// decompressed. The linker puts a function of this file in front of WiredTiger's panic (--wrap, storage/CMakeLists.txt). If the
// page belongs to a table, that function returns WiredTiger's error to the operation, as WiredTiger itself does when the file
// system fails to read. All other panics end the process: damage to WiredTiger's own files (its metadata and its history) is
// among them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"

namespace storage {

// If a file can't be opened at all, there is one such page without a size.
struct DamagedPage {
  std::string table;  // "records-17"
  uint64_t offset = 0;
  uint64_t bytes = 0;

  bool operator==(const DamagedPage&) const = default;
};

// Returns the page that WiredTiger's message about a damaged page names; nullopt if it is another message.
std::optional<DamagedPage> damaged_page(std::string_view message);

// This class remembers which damaged pages were met since the engine was opened. It is thread-safe.
class DamagedPages {
 public:
  bool add(const DamagedPage& page);  // returns whether the page is new
  std::vector<DamagedPage> all() const;
  bool any_in(std::string_view table) const;
  void forget(std::string_view table);  // the table was dropped, or its file was salvaged

 private:
  static constexpr size_t pages_max = 10000;
  mutable base::Mutex mutex_;
  std::vector<DamagedPage> pages_ GUARDED_BY(mutex_);
};

}  // namespace storage
