// dropTag forgets a tag; its commit stays.
#include "server/commands/shared/branches.h"
#include "server/commands/versions/remotes.h"
#include "server/core/arguments.h"
#include "server/core/operation.h"
#include "server/write/batch.h"

namespace server {
namespace {

class DropTag : public Command {
 public:
  std::string_view name() const override { return "dropTag"; }
  std::string_view help() const override { return "forget a tag; its commit stays\n{ dropTag: <name> }"; }
  std::optional<FieldNames> fields() const override { return FieldNames(); }
  bool writes() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const std::string name(Arguments(request).required_string("dropTag"));
    versions::check_ref_name(name);
    const auto database = branched(op, request);
    check_not_of_remote(op, database->name(), name);
    write::in_transaction(op, [&](storage::Transaction& transaction) { database->drop_tag(transaction, name); });
    reply.append("dropped", name);
  }
};

}  // namespace

std::unique_ptr<Command> make_drop_tag_command() {
  return std::make_unique<DropTag>();
}

}  // namespace server
