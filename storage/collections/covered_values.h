// Which collections' index entries tell the values behind their keys, so that those needn't be read from the document.
#pragma once

#include "storage/collections/collection.h"
#include "storage/indexes/entry_types.h"

namespace storage {

// Whether entries of `index` have types, as this collection shows them. Those of branches and snapshots don't, nor those of
// indexes that were made before entries had types.
bool entries_have_values(const Collection& collection, const Index& index);

}  // namespace storage
