// All documents of one collection into another: what renameCollection on a branch, convertToCapped and cloneCollectionAsCapped
// share.
#pragma once

#include <memory>
#include <mutex>
#include <shared_mutex>
#include <utility>

#include "storage/collections/collection.h"

namespace server {
class OperationContext;
}

namespace server::write {

// Holds the schema locks of both, alone. Waits without either: readers may hold one of the two while they wait for the other.
// Throws when the operation is told to stop.
std::pair<std::unique_lock<std::shared_mutex>, std::unique_lock<std::shared_mutex>> both_alone(OperationContext& op,
                                                                                               storage::Collection& a,
                                                                                               storage::Collection& b);

// In the order of the records, in transactions of their own: nobody may see `into` yet, or mind. The caller keeps writers away
// from both. `skip_bytes`: documents are left out, the oldest first, until what is left out is so large. Throws what an insert
// throws, and when the operation is told to stop; what was copied until then stays.
void copy_documents(OperationContext& op, storage::Collection& from, const std::shared_ptr<storage::Collection>& into,
                    int64_t skip_bytes = 0);

}  // namespace server::write
