// A change of the schema, read from the log: what is asked of the catalog.
#pragma once

#include "replication/log_record.h"
#include "storage/collections/branch_changes.h"
#include "storage/collections/catalog.h"

namespace replication {

// Replays any command that a SchemaSink or a BranchLog received, with the documents before it. The entries must be whole;
// `replayed` is the record, as the log takes it over. `branches`: nullptr: there are no branches. Throws DataCorruptionDetected
// for a record that isn't of such a command or doesn't fit what is here, and what the catalog throws.
void change_schema(storage::Catalog& catalog, storage::BranchReplayer* branches, const LogRecord& record,
                   const storage::ReplayedChange& replayed);

}  // namespace replication
