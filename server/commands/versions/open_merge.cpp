#include "server/commands/versions/open_merge.h"

#include "base/error.h"

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

std::string_view name_of(Decision::Take take) {
  for (const auto& [name, one] : decision_names) {
    if (one == take) return name;
  }
  return "";
}

}  // namespace server
