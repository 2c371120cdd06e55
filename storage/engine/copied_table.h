// A copied table is a pair of tables with the same rows (TableOptions::copied).
#pragma once

#include "storage/engine/table.h"

namespace storage {

// Opens both tables, or makes them. If one of them is damaged, or is behind the table because an older version of the program
// didn't write to it, it is made anew from the other. Nobody else may use the two yet. Returns the table that writes to both.
// Throws DataCorruptionDetected if neither can be read.
Table open_copied(Engine& engine, const std::string& name, const TableOptions& options);

}  // namespace storage
