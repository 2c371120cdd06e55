// Named contents are contents that entries of the log name instead of having them: they stand in their collection, which may have
// been dropped since.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "replication/entry.h"
#include "storage/collections/collection.h"

namespace storage {
class Store;
}

namespace replication {

// It remembers the collection, since entries of one come in runs. Not thread-safe.
class NamedContents {
 public:
  // `row` returns the log's row with a timestamp as it is now; nullopt: it was cut off.
  using RowNow = std::function<std::optional<Bytes>(storage::Stamp)>;
  NamedContents(storage::Store& store, RowNow row) : store_(store), row_(std::move(row)) {}

  // Returns the entry with its content. `held` keeps what the result has views of beside those of `entry`. nullopt: the content
  // went with its collection, which was dropped while the server wasn't a member of a set. Throws CappedPositionLost if the entry
  // was cut off since the transaction began, and DataCorruptionDetected.
  std::optional<Entry> whole(storage::Transaction& transaction, storage::Stamp stamp, const Entry& entry, Bytes& held);

  // Returns false if the content went with its collection.
  bool available(storage::Stamp stamp, const Entry& entry);

  void let_go() { last_.reset(); }  // a dropped collection is not to be kept for the reader's sake

 private:
  storage::Collection* collection_of(const Entry& entry);
  std::optional<Bytes> find(storage::Transaction& transaction, storage::Stamp stamp, const Entry& entry);

  storage::Store& store_;
  const RowNow row_;
  std::shared_ptr<storage::Collection> last_;
};

}  // namespace replication
