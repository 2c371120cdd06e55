// listTags returns the tags of a database.
#include "server/commands/shared/branches.h"
#include "server/commands/shared/list_cursor.h"
#include "server/commands/versions/remotes.h"
#include "server/core/operation.h"
#include "server/write/target.h"
#include "storage/store.h"

namespace server {
namespace {

class ListTags : public Command {
 public:
  std::string_view name() const override { return "listTags"; }
  std::string_view help() const override { return "the tags of the database\n{ listTags: 1, cursor: { batchSize: <int> } }"; }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"cursor"};
    return names;
  }
  OnSecondary on_secondary() const override { return OnSecondary::opted_in; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const auto database = branched(op, request);
    std::vector<bson::Document> documents;
    {
      const std::vector<Remote> remotes = remotes_of(op, database->name());
      storage::Transaction transaction(write::store_of(op), storage::Transaction::Mode::read);
      for (const auto& [name, commit] : database->branches().graph().tags(transaction)) {
        op.check_interrupt();
        if (versions::is_stash_name(name) || is_of_remote(remotes, name)) continue;
        documents.push_back(describe_name(op, transaction, *database, name, commit));
      }
    }
    reply_list(op, request, request.db + ".$cmd.listTags", std::move(documents), reply);
  }
};

}  // namespace

std::unique_ptr<Command> make_list_tags_command() {
  return std::make_unique<ListTags>();
}

}  // namespace server
