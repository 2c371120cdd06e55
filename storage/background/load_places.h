// This function restores, before a run begins, the place at which the last run stopped.
#pragma once

#include "storage/background/dedup_state.h"
#include "storage/background/recount_task.h"
#include "storage/background/tracked_collections.h"
#include "storage/collections/catalog.h"

namespace storage {

// Every collection of the catalog is tracked afterwards. Contents that were written since the saved place without being encoded
// are read through. After a crash each collection is counted again.
void load_places(const Catalog& catalog, const DedupState& state, TrackedCollections& tracked, RecountTask& recount);

}  // namespace storage
