#include "server/commands/versions/list_command.h"

#include "server/commands/shared/branches.h"
#include "server/commands/shared/list_cursor.h"
#include "server/write/target.h"
#include "storage/store.h"

namespace server {

std::optional<Command::FieldNames> ListCommand::fields() const {
  static constexpr std::string_view names[] = {"cursor"};
  return names;
}

void ListCommand::run(OperationContext& op, const Request& request, bson::Builder& reply) {
  const auto database = branched(op, request);
  auto documents = std::make_unique<ListSource>(op);
  {
    storage::Transaction transaction(write::store_of(op), storage::Transaction::Mode::read);
    list(op, transaction, *database, *documents);
  }
  reply_source(op, request, request.db + ".$cmd." + std::string(name()), std::move(documents), reply);
}

}  // namespace server
