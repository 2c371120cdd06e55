// A rebuild of a collection's indexes that says how far it is.
#pragma once

#include <memory>

#include "storage/collections/catalog.h"

namespace storage {

// Does what Catalog::rebuild_indexes does, with `how.interrupted` and `how.progress`. `catalog` is a store's.
void rebuild_indexes(Catalog& catalog, const std::shared_ptr<Collection>& collection, const SchemaChange& how);

}  // namespace storage
