// An error about a damaged page says between which records its rows lie, because nobody knows a page by its offset.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "storage/engine/record_id.h"

namespace storage {

class Table;
class Transaction;
struct StoreTables;

// A reader may meet the same damaged page thousands of times, so this class remembers the text about each. It is thread-safe.
class UnreadableRanges {
 public:
  // Returns the text of the range of `table` that has this record.
  std::optional<std::string> find(std::string_view table, RecordId record) const;
  // No record above `above` and below `below` can be read.
  void add(std::string_view table, RecordId above, RecordId below, std::string text);
  void forget();  // tables were repaired

 private:
  static constexpr size_t ranges_max = 1000;
  struct Range {
    std::string table;
    RecordId above = 0;
    RecordId below = 0;
    std::string text;
  };
  mutable base::Mutex mutex_;
  std::vector<Range> ranges_ GUARDED_BY(mutex_);
};

// Throws the error that reading the row of `record` in `table`, or a row beside it, ended with. Its text goes on: "…; the rows
// that can't be read lie between record 17 ({_id: 5}) and record 42 ({_id: 30})".
[[noreturn]] void throw_unreadable(const StoreTables& tables, Transaction& transaction, const Table& table, RecordId record,
                                   const std::string& damage);

}  // namespace storage
