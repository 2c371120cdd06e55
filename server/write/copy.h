// These functions copy all documents of one collection into another. renameCollection on a branch, convertToCapped and
// cloneCollectionAsCapped share them.
#pragma once

#include <memory>
#include <vector>

#include "storage/collections/collection.h"

namespace server {
class OperationContext;
}

namespace server::write {

// Holds the schema locks of both collections exclusively. Throws when the operation is interrupted.
std::vector<base::ExclusiveHold> hold_both(OperationContext& op, storage::Collection& a, storage::Collection& b);

// Copies in the order of the records, in transactions of its own, so `into` must not be visible to others yet. The caller keeps
// writers away from both collections. The oldest documents are left out until they add up to `skip_bytes`. Throws the errors of
// an insert, and when the operation is interrupted; documents copied until then stay.
void copy_documents(OperationContext& op, storage::Collection& from, const std::shared_ptr<storage::Collection>& into,
                    int64_t skip_bytes = 0);

}  // namespace server::write
