// purge erases a document from all branches, commits and snapshots.
#include "server/commands/shared/branches.h"
#include "server/commands/shared/id_argument.h"
#include "server/core/arguments.h"
#include "server/core/operation.h"
#include "server/core/scale.h"
#include "server/core/services.h"
#include "server/write/batch.h"
#include "server/write/keep_for_log.h"
#include "server/write/target.h"

namespace server {
namespace {

class Purge : public Command {
 public:
  std::string_view name() const override { return "purge"; }
  std::string_view help() const override {
    return "erase a document from all branches, commits and snapshots\n{ purge: <collection>, _id: <value> }\nCommits keep their "
           "ids; the log keeps its entries until it is cut. There is no way back.";
  }
  bool takes_collection() const override { return true; }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"_id", "id"};
    return names;
  }
  bool writes() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const Arguments arguments(request);
    const bson::ValueView id = id_argument(arguments);
    if (versions::split_name(request.db).ref) branched(op, request);  // the database must have branches
    write::store_of(op);
    const uint64_t count = op.services().databases->purge(database_of(request), request.collection(), id, write::keep_for_log(op),
                                                          [&](const auto& work) { return write::in_transaction(op, work); });
    append_count(reply, "versions", static_cast<int64_t>(count));
  }
};

}  // namespace

std::unique_ptr<Command> make_purge_command() {
  return std::make_unique<Purge>();
}

}  // namespace server
