// A stash that is popped is gone together with the changes that it applies, although the log has changes of documents and changes
// of branches in transactions of their own:
//
//   1  the stash's changes, and a document   admin.system.stashes: {_id: "shop.3", db, stash, commit, branch, dropped}
//   2  the stash goes, and collections that it dropped
//   3  the document goes
//
// With the first transaction the stash counts as gone. If the server stops behind it, the next command about stashes does the
// rest.
#pragma once

#include <string>
#include <vector>

#include "server/write/target.h"
#include "versions/database/databases.h"

namespace server {

class OperationContext;

struct PoppedStash {
  uint64_t number = 0;
  std::string commit;                     // its id
  std::string branch;                     // that got its changes
  std::vector<std::string> dropped = {};  // collections that the branch has no more, if they are empty
};

// Those of the database that may not be gone yet.
std::vector<PoppedStash> popped_stashes(OperationContext& op, storage::Transaction& transaction,
                                        versions::BranchedDatabase& database);
// The stashes that count, the newest first.
std::vector<versions::BranchedDatabase::Stash> stashes_of(OperationContext& op, storage::Transaction& transaction,
                                                          versions::BranchedDatabase& database);

// Makes the collection of such documents, if it isn't there. The caller is in no transaction.
void make_popped_collection(OperationContext& op);
write::Target popped_target(OperationContext& op);
// Says in the transaction that the stash is popped.
void put_popped(OperationContext& op, storage::Transaction& transaction, const write::Target& target,
                versions::BranchedDatabase& database, const PoppedStash& popped);
// Does what is left to be done for stashes that were popped. The caller is alone with the database.
void end_pops(OperationContext& op, versions::BranchedDatabase& database);

}  // namespace server
