// Parts of the background that keep something about collections hear when one is dropped.
#pragma once

#include "storage/engine/record_id.h"

namespace storage {

class DropListener {
 public:
  // The collection was dropped, and nothing that was queued for it is left. The scheduler's thread calls this function.
  virtual void forget(CollectionId collection) = 0;

 protected:
  ~DropListener() = default;
};

}  // namespace storage
