// Dedup, as collections see it: they report each write to it after the commit.
#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "storage/collections/collection.h"

namespace storage {

struct Contents;

// Thread-safe. No call waits.
class WriteObserver {
 public:
  virtual ~WriteObserver() = default;
  // False: it was never switched on, and has no use for what it is told until it is.
  virtual bool listens() const = 0;
  // Whether `written` would keep a content of this length: else it need not be copied for the call.
  virtual bool wants(const Collection& collection, size_t bytes) const = 0;
  // `previous` is the generation that an update replaced, 0 for an insert; `previous_is_base`: others are based on it.
  virtual void written(const std::shared_ptr<Collection>& collection, RecordId id, Stamp generation, Stamp previous,
                       bool previous_is_base, std::optional<Bytes> content) = 0;
  virtual void removed(const std::shared_ptr<Collection>& collection, RecordId id, Stamp generation) = 0;
  virtual void dropped(const std::shared_ptr<Collection>& collection) = 0;
};

// What the collections of a store share.
struct CollectionServices {
  Contents& contents;
  std::atomic<WriteObserver*> observer{nullptr};  // set before the first client; nullptr while the catalog is loaded
};

}  // namespace storage
