// A change of the schema, read from the log: what is asked of the catalog.
#pragma once

#include "replication/log_record.h"
#include "storage/collections/branch_changes.h"
#include "storage/collections/catalog.h"

namespace replication {

// Every command that a SchemaSink or a BranchLog is told of, with the documents before it; the entries are whole. `branches`:
// nullptr where nobody has any. Throws DataCorruptionDetected for what is no such command or doesn't fit what is here, and what
// the catalog throws.
void change_schema(storage::Catalog& catalog, storage::BranchMaker* branches, const LogRecord& record);

}  // namespace replication
