// listRemotes returns the remotes of a database.
#include "server/commands/shared/branches.h"
#include "server/commands/shared/list_cursor.h"
#include "server/commands/versions/remotes.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/write/target.h"
#include "storage/store.h"

namespace server {
namespace {

class ListRemotes : public Command {
 public:
  std::string_view name() const override { return "listRemotes"; }
  std::string_view help() const override {
    return "the remotes of the database, with what their branches and tags named when they were fetched\n"
           "{ listRemotes: 1, cursor: { batchSize: <int> } }";
  }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"cursor"};
    return names;
  }
  OnSecondary on_secondary() const override { return OnSecondary::opted_in; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const std::string db = database_of(request);
    auto documents = std::make_unique<ListSource>(op);
    {
      storage::Transaction transaction(write::store_of(op), storage::Transaction::Mode::read);
      const auto database = op.services().databases->find(db);
      const bool shallow = database && !database->branches().graph().boundaries(transaction).empty();
      for (const Remote& remote : remotes_of(op, db)) {
        op.check_interrupt();
        bson::Builder out;
        out.append("name", remote.name).append("uri", remote.uri.shown);
        if (shallow) out.append("shallow", true);
        remote.selection.append_to(out);
        {
          auto refs = out.array("refs");
          if (database) {
            for (const auto& [tag, commit] : database->branches().graph().tags(transaction)) {
              op.check_interrupt();
              if (is_of_remote({remote}, tag)) refs.append(describe_name(op, transaction, *database, tag, commit));
            }
          }
        }
        documents->add(out.done());
      }
    }
    reply_source(op, request, request.db + ".$cmd.listRemotes", std::move(documents), reply);
  }
};

}  // namespace

std::unique_ptr<Command> make_list_remotes_command() {
  return std::make_unique<ListRemotes>();
}

}  // namespace server
