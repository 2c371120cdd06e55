// This function makes transactions conflict without a change.
#pragma once

#include "storage/engine/table.h"

namespace storage {

// The transaction conflicts with every other one that writes or touches this row at the same time, and it leaves nothing behind.
// Nobody may have written the row: its key only stands for something else. Throws WriteConflict.
void touch(Transaction& transaction, const Table& table, BytesView key);

}  // namespace storage
