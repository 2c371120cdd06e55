// removeRemote forgets a remote, and what its branches and tags named.
#include "server/commands/shared/branches.h"
#include "server/commands/versions/remotes.h"
#include "server/core/arguments.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/write/batch.h"

namespace server {
namespace {

class RemoveRemote : public Command {
 public:
  std::string_view name() const override { return "removeRemote"; }
  std::string_view help() const override {
    return "forget a remote, and what its branches and tags named; the commits stay\n{ removeRemote: <name> }";
  }
  std::optional<FieldNames> fields() const override { return FieldNames(); }
  bool writes() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder&) override {
    const Arguments arguments(request);
    const std::string db = database_of(request);
    const Remote remote = remote_of(op, db, arguments.required_string("removeRemote"));
    if (const auto database = op.services().databases->find(db)) {
      write::in_transaction(op, [&](storage::Transaction& transaction) {
        for (const auto& [tag, commit] : database->branches().graph().tags(transaction)) {
          if (is_of_remote({remote}, tag)) database->drop_tag(transaction, tag);
        }
      });
    }
    remove_remote(op, db, remote.name);
  }
};

}  // namespace

std::unique_ptr<Command> make_remove_remote_command() {
  return std::make_unique<RemoveRemote>();
}

}  // namespace server
