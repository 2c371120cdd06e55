// delete removes documents that match.
#include "base/error.h"
#include "server/commands/crud/write_command.h"
#include "server/commands/shared/collection_options.h"
#include "server/core/arguments.h"
#include "server/core/operation.h"
#include "server/dispatch/statement.h"
#include "server/query/find_request.h"
#include "server/write/retry.h"
#include "server/write/statements.h"
#include "server/write/write_errors.h"

namespace server {

using base::ErrorCode;
using base::OperationError;

write::Selection parse_delete_statement(bson::DocumentView document, query::StatementLets& lets) {
  const Arguments arguments("delete.deletes", document);
  arguments.only({"q", "limit", "hint", "collation", "sampleId"});
  write::Selection selection;
  selection.filter = arguments.required_object("q");
  const bson::Element limit = arguments.any("limit");
  if (!limit.exists()) throw OperationError(40414, "BSON field 'delete.deletes.limit' is missing but a required field");
  if (!limit.is_number() || (limit.to_double() != 0 && limit.to_double() != 1)) {
    throw OperationError(ErrorCode::failed_to_parse,
                         "The limit field in delete objects must be 0 or 1. Got " +
                             (limit.is_number() ? std::to_string(limit.to_int64()) : std::string(bson::type_name(limit.type()))));
  }
  selection.all = limit.to_double() == 0;
  selection.hint = arguments.any("hint");
  query::checked_hint(arguments.any("hint"));
  selection.collation = bson::parse_collation(arguments.any("collation"));
  selection.let = lets.of(selection.collation);
  return selection;
}

namespace {

class Delete : public Command {
 public:
  std::string_view name() const override { return "delete"; }
  std::string_view help() const override { return "delete documents"; }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {
        "deletes", "ordered", "let", "stmtIds", "collectionUUID", "runtimeConstants", "bypassDocumentValidation"};
    return names;
  }
  bool writes() const override { return true; }
  bool takes_collection() const override { return true; }
  OpKind kind() const override { return OpKind::remove; }
  bool stable_api() const override { return true; }
  InTransaction in_transaction() const override { return InTransaction::allowed; }
  bool retryable() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const Arguments arguments(request);
    const bool ordered = arguments.boolean("ordered").value_or(true);
    query::StatementLets lets(op, arguments.object("let").value_or(bson::DocumentView()));
    const std::vector<bson::DocumentView> given = statements_of(request, "deletes");
    std::vector<write::Selection> statements;
    for (const auto& document : given) statements.push_back(parse_delete_statement(document, lets));

    const std::string ns = write_namespace(op, request);
    for (const auto& statement : statements) write::check_single(op, statement.all, "limit=0");
    auto ids = write::statement_ids("delete", request.body, statements.size());
    if (op.retry) op.retry->set_ids(std::move(ids));
    int64_t deleted = 0;
    write::WriteErrors errors;
    for (size_t i = 0; i < statements.size(); ++i) {
      op.check_interrupt();
      Statement statement(op, ns, given[i]);
      if (op.retry) op.retry->at(i);
      // If the log can't say whether it was executed, no statement can go on.
      if (op.retry && op.retry->executed()) {
        ++deleted;
        continue;
      }
      try {
        deleted += write::run_delete(op, ns, statements[i]).deleted;
      } catch (const OperationError& error) {
        statement.failed(error);
        op.check_interrupt();
        errors.add(i, error);
        if (ordered || op.transaction) break;
      }
    }
    reply.append("n", static_cast<int32_t>(deleted));
    errors.append(reply);
    if (op.retry) op.retry->append_retried(reply);
  }
};

}  // namespace

std::unique_ptr<Command> make_delete_command() {
  return std::make_unique<Delete>();
}

}  // namespace server
