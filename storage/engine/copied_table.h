// A copied table is a pair of tables with the same rows (TableOptions::copied).
#pragma once

#include "storage/engine/table.h"

namespace storage {

// Compares a table with its copy, and replaces one that is damaged, or behind because an older version didn't keep a copy.
// `is_new`: the copy was made just now. Nobody else may use the two. Returns the table that writes to both. Throws
// DataCorruptionDetected if neither can be read.
Table keep_copy(Engine& engine, const Table& table, const Table& copy, bool is_new);

}  // namespace storage
