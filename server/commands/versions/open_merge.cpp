#include "server/commands/versions/open_merge.h"

#include "base/error.h"
#include "server/write/target.h"
#include "storage/store.h"

namespace server {

using base::ErrorCode;
using base::OperationError;
using versions::BranchedDatabase;
using versions::Decision;

MergeRequest open_merge(OperationContext& op, storage::Transaction& transaction, BranchedDatabase& database,
                        const versions::Branch& branch) {
  const auto open = database.open_merge(transaction, branch);
  if (!open) throw OperationError(ErrorCode::illegal_operation, "no merge is under way on branch '" + branch.name + "'");
  MergeRequest how = MergeRequest::read(op, open->request);
  how.go_on(open->from);
  return how;
}

std::optional<MergeRequest::Rebase> rebase_on(OperationContext& op, BranchedDatabase& database, const versions::Ref& ref) {
  storage::Transaction transaction(write::store_of(op), storage::Transaction::Mode::read);
  const auto open = database.open_merge(transaction, database.branch(transaction, ref));
  return open ? MergeRequest::read(op, open->request).rebase() : std::nullopt;
}

std::string_view name_of(Decision::Take take) {
  for (const auto& [name, one] : decision_names) {
    if (one == take) return name;
  }
  return "";
}

}  // namespace server
