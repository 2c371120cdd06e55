// A recount corrects a collection's counts of what is stored (StoreCounts): afterwards they equal what a scan counts.
//
// The counts are kept in memory and saved now and then, so that after a crash they may be seconds older than the rows. Writers go
// on during a recount. Nobody may write only at the moment at which the scan's snapshot begins; the recount adds the difference
// at that moment to the counts.
#pragma once

#include <functional>

#include "storage/collections/collection.h"

namespace storage {

class Engine;

// The scheduler's thread calls this function; apart from writers, only that thread changes these counts. The function returns
// false when somebody writes right now; then the caller tries again later. It calls `interrupted` now and then, which may throw.
bool recount(Engine& engine, Collection& collection, const std::function<void()>& interrupted);

}  // namespace storage
