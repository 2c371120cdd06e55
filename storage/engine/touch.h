// A conflict without a change.
#pragma once

#include "storage/engine/table.h"

namespace storage {

// Conflicts with every other transaction that writes or touches this row at the same time, and leaves nothing behind. Nobody
// may have written the row: it is one that stands for something else. Throws WriteConflict.
void touch(Transaction& transaction, const Table& table, BytesView key);

}  // namespace storage
