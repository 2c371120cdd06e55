// An index is made unique in two steps: it refuses new violations first (prepareUnique), and is converted when none is left.
#pragma once

#include "storage/collections/collection.h"

namespace server {

class OperationContext;

// Throws CannotConvertIndexToUnique (359) with the list of violations, {ids: [...]} for each key that several documents have. The
// list ends after 8 MB.
void check_convertible(OperationContext& op, storage::Collection& collection, const storage::Index& index);

}  // namespace server
