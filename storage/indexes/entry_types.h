// Index entries that hold the types of the values behind their keys (bson/key_types.h), so that those needn't be read from the
// document.
#pragma once

#include <optional>

#include "base/bytes.h"

namespace storage {

// An index cursor whose entries may have types implements this beside IndexCursor.
class EntryTypes {
 public:
  virtual ~EntryTypes() = default;
  // Of the entry the cursor stands on; nullopt: it has none.
  virtual std::optional<base::BytesView> types() const = 0;
};

}  // namespace storage
