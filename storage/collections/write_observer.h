// WriteObserver is dedup as collections see it: they report each write to it after the commit.
#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "storage/collections/collection.h"

namespace storage {

struct Contents;

// Implementations are thread-safe. No call waits.
class WriteObserver {
 public:
  virtual ~WriteObserver() = default;
  // Returns false when dedup was never switched on; until then it has no use for reports.
  virtual bool listens() const = 0;
  // Returns whether `written` would keep a content of this length. If not, the caller need not copy it.
  virtual bool wants(const Collection& collection, size_t bytes) const = 0;
  // `previous` is the generation that an update replaced, or 0 for an insert. `previous_is_base` says that deltas are based on
  // it.
  virtual void written(const std::shared_ptr<Collection>& collection, RecordId id, Stamp generation, Stamp previous,
                       bool previous_is_base, std::optional<Bytes> content) = 0;
  virtual void removed(const std::shared_ptr<Collection>& collection, RecordId id, Stamp generation) = 0;
  virtual void dropped(const std::shared_ptr<Collection>& collection) = 0;
};

// The collections of a store share these services.
struct CollectionServices {
  Contents& contents;
  std::atomic<WriteObserver*> observer{nullptr};  // set before the first client; nullptr while the catalog is loaded
};

}  // namespace storage
