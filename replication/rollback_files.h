// A rollback's documents are kept for those who want them back, as mongod keeps them:
//
//   <directory>/<uuid of the collection>/removed.<time>.bson     the documents as they were, one after the other
#pragma once

#include <string>

#include "replication/oplog.h"

namespace storage {
class Store;
}

namespace replication {

// Writes every document that an entry with a timestamp above `kept` inserted or changed, as it is now. `wall_ms` names
// the files. Returns how many. Throws OutOfDiskSpace,
// InternalError for a directory that can't be written.
int64_t write_rollback_files(storage::Store& store, Oplog& oplog, storage::Stamp kept, const std::string& directory,
                             int64_t wall_ms);

}  // namespace replication
