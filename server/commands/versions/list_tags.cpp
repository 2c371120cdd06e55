// listTags returns the tags of a database.
#include "server/commands/shared/branches.h"
#include "server/commands/shared/list_cursor.h"
#include "server/commands/versions/list_command.h"
#include "server/commands/versions/remotes.h"
#include "server/core/operation.h"

namespace server {
namespace {

class ListTags : public ListCommand {
 public:
  std::string_view name() const override { return "listTags"; }
  std::string_view help() const override { return "the tags of the database\n{ listTags: 1, cursor: { batchSize: <int> } }"; }

 private:
  void list(OperationContext& op, storage::Transaction& transaction, versions::BranchedDatabase& database,
            ListSource& documents) const override {
    const std::vector<Remote> remotes = remotes_of(op, database.name());
    for (const auto& [name, commit] : database.branches().graph().tags(transaction)) {
      op.check_interrupt();
      if (versions::is_stash_name(name) || is_of_remote(remotes, name)) continue;
      documents.add(describe_name(op, transaction, database, name, commit));
    }
  }
};

}  // namespace

std::unique_ptr<Command> make_list_tags_command() {
  return std::make_unique<ListTags>();
}

}  // namespace server
