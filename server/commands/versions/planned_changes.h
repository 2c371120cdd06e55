// Changes of documents that were planned as a merge plans them, and become changes of the branch that aren't committed.
#pragma once

#include <string>

#include "versions/database/databases.h"

namespace server {

class OperationContext;

// Writes all changes of the plan, or none. The caller is alone with the database (storage::Catalog::alone) since the plan was
// made. `also` writes more documents in the same transaction. Throws DuplicateKey, and other errors of writes.
void write_planned(OperationContext& op, versions::BranchedDatabase& database, const std::string& branch,
                   const versions::BranchedDatabase::Planned& planned,
                   const std::function<void(storage::Transaction&)>& also = nullptr);

}  // namespace server
