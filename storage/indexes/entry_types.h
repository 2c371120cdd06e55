// Index entries may hold the types of the values behind their keys (bson/key_types.h), so that the values needn't be read from
// the document.
#pragma once

#include <optional>

#include "base/bytes.h"

namespace storage {

// An index cursor whose entries may have types implements this in addition to IndexCursor.
class EntryTypes {
 public:
  virtual ~EntryTypes() = default;
  // Returns the types of the entry that the cursor stands on, or nullopt if it has none.
  virtual std::optional<base::BytesView> types() const = 0;
};

}  // namespace storage
