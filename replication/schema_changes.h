// A change of the schema, read from the log: what is asked of the catalog.
#pragma once

#include "replication/log_record.h"
#include "storage/catalog.h"

namespace replication {

// Every command the catalog tells its SchemaSink of. Throws DataCorruptionDetected for what is no such command or doesn't fit what is
// here, and what the catalog throws.
void change_schema(storage::Catalog& catalog, const LogRecord& record);

}  // namespace replication
