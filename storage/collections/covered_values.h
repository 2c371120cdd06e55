// entries_have_values says for which indexes a query can take values from the entries, without a read of the document.
#pragma once

#include "storage/collections/collection.h"
#include "storage/indexes/entry_types.h"

namespace storage {

// Returns whether entries of `index` have the types of their values in this collection. Entries of branches and snapshots
// don't, and neither do entries of indexes that were made before entries had types. Sort keys of a collation aren't the strings.
bool entries_have_values(const Collection& collection, const Index& index);

}  // namespace storage
