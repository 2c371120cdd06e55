// listBranches returns the branches of a database, by name.
#include "server/commands/shared/branches.h"
#include "server/commands/shared/list_cursor.h"
#include "server/commands/versions/list_command.h"
#include "server/core/operation.h"

namespace server {
namespace {

class ListBranches : public ListCommand {
 public:
  std::string_view name() const override { return "listBranches"; }
  std::string_view help() const override {
    return "the branches of the database\n{ listBranches: 1, cursor: { batchSize: <int> } }";
  }

 private:
  void list(OperationContext& op, storage::Transaction& transaction, versions::BranchedDatabase& database,
            ListSource& documents) const override {
    for (const versions::Branch& branch : database.branches().graph().branches(transaction)) {
      op.check_interrupt();
      documents.add(describe_name(op, transaction, database, branch.name, branch.head));
    }
  }
};

}  // namespace

std::unique_ptr<Command> make_list_branches_command() {
  return std::make_unique<ListBranches>();
}

}  // namespace server
