// Brings a collection's counts of what is stored (StoreCounts) to what a scan counts.
//
// The counts are kept in memory and saved now and then: after a crash they may be
// seconds older than the rows. Writers go on meanwhile: only the moment at which the
// scan's snapshot begins is one without them, and what differs then is made good.
#pragma once

#include <functional>

#include "storage/collections/collection.h"

namespace storage {

class Engine;

// On the dedup worker's thread, which is the only other one that changes these counts. False: somebody
// writes right now, try again. `interrupted` is asked now and then, and may throw.
bool recount(Engine& engine, Collection& collection, const std::function<void()>& interrupted);

}  // namespace storage
