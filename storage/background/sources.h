// The sources lead the tasks and the encoders from names to what is stored.
//
// A collection may be dropped while a task works on it. So each collection that was asked for stays alive until the next `clear`.
#pragma once

#include <memory>
#include <unordered_map>

#include "dedup/encoder.h"
#include "storage/background/drop_listener.h"
#include "storage/background/tracked_collections.h"
#include "storage/background/write_back_flusher.h"

namespace storage {

// Only the scheduler's thread uses an object.
class Sources final : public dedup::RecordSource, public DropListener {
 public:
  Sources(Engine& engine, const TrackedCollections& tracked) : engine_(engine), tracked_(tracked) {}

  // These functions return nullptr for collections that were dropped.
  std::shared_ptr<Collection> collection(CollectionId id);
  std::shared_ptr<ChainStore> store(CollectionId id);
  ChainStoreOf stores() {
    return [this](CollectionId id) { return store(id); };
  }

  // This function reads a whole content for an encoder. Each read has its own transaction, because a transaction that lasted for
  // a batch would make the engine keep everything that is overwritten meanwhile.
  std::optional<Bytes> fetch(const dedup::ContentId& id) override;

  void forget(CollectionId collection) override { in_use_.erase(collection); }
  void clear() { in_use_.clear(); }

 private:
  Engine& engine_;
  const TrackedCollections& tracked_;
  std::unordered_map<CollectionId, std::shared_ptr<Collection>> in_use_;
};

}  // namespace storage
