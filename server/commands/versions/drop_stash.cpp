// dropStash forgets a stash.
#include "server/commands/shared/branches.h"
#include "server/commands/versions/stashes.h"
#include "server/core/operation.h"
#include "server/core/scale.h"
#include "server/write/batch.h"

namespace server {
namespace {

class DropStash : public Command {
 public:
  std::string_view name() const override { return "dropStash"; }
  std::string_view help() const override {
    return "forget a stash, whose changes go with the next sweep if retention lets them\n{ dropStash: <number> }";
  }
  std::optional<FieldNames> fields() const override { return FieldNames(); }
  bool writes() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const uint64_t number = stash_number(Arguments(request), name());
    const auto database = branched(op, request);
    write::in_transaction(op, [&](storage::Transaction& transaction) {
      find_stash(op, transaction, *database, number, {access::Action::resetBranch});
      database->drop_stash(transaction, number);
    });
    append_count(reply, "dropped", static_cast<int64_t>(number));
  }
};

}  // namespace

std::unique_ptr<Command> make_drop_stash_command() {
  return std::make_unique<DropStash>();
}

}  // namespace server
