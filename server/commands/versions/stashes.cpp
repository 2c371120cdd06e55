#include "server/commands/versions/stashes.h"

#include "base/error.h"
#include "server/commands/versions/popped_stashes.h"
#include "server/core/permission.h"

namespace server {

using base::ErrorCode;
using base::OperationError;
using versions::BranchedDatabase;

uint64_t stash_number(const Arguments& arguments, std::string_view command) {
  const int64_t number = arguments.required_integer(command);
  if (number < 1) throw OperationError(ErrorCode::bad_value, "'" + std::string(command) + "' is the number of a stash, from 1");
  return static_cast<uint64_t>(number);
}

bool may_at_stash(const OperationContext& op, const BranchedDatabase& database, const Stash& stash, access::Action action) {
  const std::string resource =
      stash.branch == BranchedDatabase::main ? database.name() : database.name() + "@" + versions::escaped(stash.branch);
  return may(op, {action}, access::Resource::of_database(resource));
}

Stash find_stash(OperationContext& op, storage::Transaction& transaction, BranchedDatabase& database, uint64_t number,
                 std::initializer_list<access::Action> needed) {
  for (const Stash& one : stashes_of(op, transaction, database)) {
    if (one.number != number) continue;
    for (const access::Action action : needed) {
      if (!may_at_stash(op, database, one, action))
        throw OperationError(ErrorCode::unauthorized, "not authorized on branch '" + one.branch + "', on which stash " +
                                                          std::to_string(number) + " was made");
    }
    return one;
  }
  throw OperationError(ErrorCode::namespace_not_found,
                       "database '" + database.name() + "' has no stash " + std::to_string(number));
}

}  // namespace server
