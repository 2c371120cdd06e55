// Index entries that tell the values behind their keys (bson/key_types.h), so that those needn't be read from the document.
#pragma once

#include <optional>

#include "storage/collections/collection.h"

namespace storage {

// An index cursor whose entries may tell implements this beside IndexCursor.
class TellsTypes {
 public:
  virtual ~TellsTypes() = default;
  // Of the entry the cursor stands on; nullopt: it doesn't say.
  virtual std::optional<BytesView> types() const = 0;
};

// Whether entries of `index` tell, as this collection shows them. Those of branches and snapshots don't, nor those of indexes
// that were made before entries had types.
bool tells_values(const Collection& collection, const Index& index);

}  // namespace storage
