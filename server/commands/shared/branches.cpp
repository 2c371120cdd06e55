#include "server/commands/shared/branches.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/utf8.h"
#include "server/core/operation.h"
#include "server/core/permission.h"
#include "server/core/services.h"
#include "server/write/target.h"

namespace server {

using base::ErrorCode;
using base::OperationError;

std::string database_of(const Request& request) {
  return std::string(versions::split_name(request.db).database);
}

namespace {

[[noreturn]] void refuse_snapshot(const Request& request) {
  throw OperationError(ErrorCode::illegal_operation, request.command + " isn't possible in " + request.db +
                                                         ": a snapshot is read-only, and has no branches of its own");
}

}  // namespace

versions::Ref ref_of(const Request& request) {
  const versions::DatabaseName name = versions::split_name(request.db);
  if (name.ref && name.ref->find('@') != name.ref->npos) refuse_snapshot(request);  // a branch in a snapshot
  return versions::ref_of_database(request.db);
}

versions::Ref ref_of(std::string_view argument) {
  return versions::parse_ref(argument);
}

std::shared_ptr<versions::BranchedDatabase> branched(OperationContext& op, const Request& request) {
  write::store_of(op);
  if (op.services().databases->names_snapshot(request.db)) refuse_snapshot(request);
  return query::branched_database(op, request.db);
}

versions::Databases::Begun branched_from(OperationContext& op, const Request& request, const versions::Ref& ref,
                                         const versions::CommitInfo& first) {
  if (ref.name != versions::BranchedDatabase::main || !ref.steps.empty()) return {branched(op, request)};
  write::store_of(op);
  auto begun = op.services().databases->find_or_begin(database_of(request), first, 0, {.interrupted = op.interrupted()});
  op.last_write = std::max(op.last_write, begun.logged);
  return begun;
}

void check_nothing_lost(storage::Transaction& transaction, versions::BranchedDatabase& database, const std::string& branch,
                        bool force) {
  const versions::Place place = database.place(transaction, {.name = branch});
  if (force || !place.branch || !database.has_pending(transaction, place.branch->id)) return;
  throw OperationError(ErrorCode::illegal_operation,
                       "branch '" + branch + "' has changes that are not committed; with force: true they are lost");
}

versions::CommitInfo commit_info(OperationContext& op, const Arguments& arguments, std::string_view message) {
  const std::string_view said = arguments.string("message").value_or(message), author = arguments.string("author").value_or("");
  // Whoever lists commits gets them, and drivers refuse a reply with other text.
  if (!base::is_utf8(said) || !base::is_utf8(author))
    throw OperationError(ErrorCode::bad_value, "'message' and 'author' of a commit must be valid UTF-8");
  bson::Builder metadata;
  metadata.append("message", said);
  if (arguments.string("author")) metadata.append("author", author);
  return {op.services().clock.wall_ms(), metadata.done().bytes()};
}

bson::Document describe_name(const OperationContext& op, storage::Transaction& transaction, versions::BranchedDatabase& database,
                             const std::string& name, versions::CommitNumber at) {
  const std::string state = database.name() + "@" + versions::escaped(name);
  bson::Builder out;
  out.append("name", name).append("database", state);
  const std::string_view resource = name == versions::BranchedDatabase::main ? std::string_view(database.name()) : state;
  if (!may(op, {access::Action::find}, access::Resource::of_database(resource))) return out.done();
  const auto commit = database.branches().graph().commit(transaction, at);
  out.append("commit", hex(commit->id)).append("time", bson::Date{commit->time_ms});
  return out.done();
}

}  // namespace server
