#include "server/commands/crud/explain_writes.h"

#include "base/error.h"
#include "server/commands/crud/write_command.h"
#include "server/core/arguments.h"
#include "server/core/command.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/query/find_request.h"
#include "server/query/fitting_int.h"
#include "server/query/reader.h"
#include "server/query/views.h"
#include "storage/store.h"

namespace server {
namespace {

using query::Query;

struct Write {
  Query query;
  bool removes = false;
  bool upsert = false;
};

Query selection(OperationContext& op, const Arguments& arguments, std::string_view filter) {
  Query query;
  query.filter = bson::Document(arguments.object(filter).value_or(bson::DocumentView()));
  query.hint = query::checked_hint(arguments.any("hint"));
  query.collation = bson::parse_collation(arguments.any("collation"));
  if (const auto let = arguments.object("let")) query.let = query::constant_let(op, *let, query.collation);
  return query;
}

// Returns the one statement of an update or delete.
Arguments statement_of(const Request& request, const char* list) {
  const auto statements = request.documents(list);
  if (statements.size() != 1) {
    throw base::OperationError(base::ErrorCode::invalid_length, "explained write batches must be of size 1");
  }
  return Arguments(request.command + "." + list, statements.front());
}

std::optional<Write> parse_write(OperationContext& op, const Request& request, std::string_view command) {
  Write write;
  if (command == "update") {
    const Arguments statement = statement_of(request, "updates");
    check_update_fields(statement);
    write.query = selection(op, statement, "q");
    write.upsert = statement.boolean("upsert").value_or(false);
    write.query.limit = statement.boolean("multi").value_or(false) ? 0 : 1;
  } else if (command == "delete") {
    const Arguments statement = statement_of(request, "deletes");
    check_delete_fields(statement);
    write.query = selection(op, statement, "q");
    write.query.limit = statement.integer("limit").value_or(0);
    write.removes = true;
  } else if (command == "findAndModify") {
    const Arguments arguments("findAndModify", request.body);
    write.query = selection(op, arguments, "query");
    write.query.sort = bson::Document(arguments.object("sort").value_or(bson::DocumentView()));
    write.query.limit = 1;
    write.removes = arguments.loose_boolean("remove").value_or(false);
    write.upsert = arguments.loose_boolean("upsert").value_or(false);
  } else {
    return std::nullopt;
  }
  write.query.ns = request.ns();
  write.query.explained = true;
  write.query.allow_disk_use = true;
  return write;
}

}  // namespace

bool explain_write(OperationContext& op, const Request& request, std::string_view command, query::Verbosity verbosity,
                   bson::Builder& reply) {
  const auto write = parse_write(op, request, command);
  if (!write) return false;
  query::require_no_view(op, write->query.ns);
  query::Reader reader(op, op.services().store->catalog().open(write->query.ns), write->query.ns, write->query);
  int64_t matched = 0;
  for (; verbosity != query::Verbosity::query_planner && reader.next(); ++matched)
    (void)reader.document();  // decoding is counted
  const query::Executor::Top top{
      write->removes ? "DELETE" : "UPDATE", [&](bson::Builder& out) {
        if (write->removes) {
          out.append("nWouldDelete", query::fitting_int(matched));
          return;
        }
        out.append("nMatched", query::fitting_int(matched)).append("nWouldModify", query::fitting_int(matched));
        out.append("nWouldUpsert", write->upsert && matched == 0 ? 1 : 0);
      }};
  reply.append("explainVersion", "1");
  reader.executor().explain(reply, verbosity, &top);
  return true;
}

}  // namespace server
