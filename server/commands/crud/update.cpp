// update changes documents that match, one statement after the other.
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

write::UpdateStatement parse_update_statement(bson::DocumentView document, query::StatementLets& lets) {
  const Arguments arguments("update.updates", document);
  arguments.only({"q", "u", "c", "multi", "upsert", "upsertSupplied", "arrayFilters", "hint", "collation", "sampleId"});
  write::UpdateStatement statement;
  statement.selection.filter = arguments.required_object("q");
  statement.selection.hint = arguments.any("hint");
  query::checked_hint(arguments.any("hint"));
  statement.selection.all = arguments.boolean("multi").value_or(false);
  statement.update = arguments.any("u");
  if (!statement.update.exists()) {
    throw OperationError(40414, "BSON field 'update.updates.u' is missing but a required field");
  }
  if (!statement.update.is_object() && !statement.update.is_array()) {
    throw OperationError(ErrorCode::failed_to_parse, "Update argument must be either an object or an array");
  }
  if (const auto constants = arguments.object("c")) {
    statement.constants = *constants;
    statement.has_constants = true;
  }
  if (const auto filters = arguments.array("arrayFilters")) {
    statement.array_filters = *filters;
    statement.has_array_filters = true;
  }
  statement.upsert = arguments.boolean("upsert").value_or(false);
  statement.upsert_supplied = arguments.boolean("upsertSupplied").value_or(false);
  statement.selection.collation = bson::parse_collation(arguments.any("collation"));
  statement.selection.let = lets.of(statement.selection.collation);
  return statement;
}

namespace {

class Update : public Command {
 public:
  std::string_view name() const override { return "update"; }
  std::string_view help() const override { return "update documents"; }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {
        "updates", "ordered",        "bypassDocumentValidation", "let",
        "stmtIds", "collectionUUID", "runtimeConstants",         "bypassEmptyTsReplacement"};
    return names;
  }
  bool writes() const override { return true; }
  bool takes_collection() const override { return true; }
  OpKind kind() const override { return OpKind::update; }
  bool stable_api() const override { return true; }
  InTransaction in_transaction() const override { return InTransaction::allowed; }
  bool retryable() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const Arguments arguments(request);
    const bool ordered = arguments.boolean("ordered").value_or(true);
    arguments.loose_boolean("bypassDocumentValidation");
    query::StatementLets lets(op, arguments.object("let").value_or(bson::DocumentView()));
    const bool keep_empty_timestamps = arguments.boolean("bypassEmptyTsReplacement").value_or(false);
    const std::vector<bson::DocumentView> given = statements_of(request, "updates");
    std::vector<write::UpdateStatement> statements;
    for (const auto& document : given) {
      statements.push_back(parse_update_statement(document, lets));
      statements.back().keep_empty_timestamps = keep_empty_timestamps;
    }

    const std::string ns = write_namespace(op, request);
    for (const auto& statement : statements) write::check_single(op, statement.selection.all, "multi=true");
    auto ids = write::statement_ids("update", request.body, statements.size());
    if (op.retry) op.retry->set_ids(std::move(ids));
    int64_t matched = 0;
    int64_t modified = 0;
    write::WriteErrors errors;
    bson::ArrayBuilder upserted;
    for (size_t i = 0; i < statements.size(); ++i) {
      op.check_interrupt();
      Statement statement(op, ns, given[i]);
      if (op.retry) op.retry->at(i);
      // If the log can't say whether it was executed, no statement can go on.
      const bool executed = op.retry && op.retry->executed();
      try {
        const auto outcome = executed ? write::executed_update(op) : write::run_update(op, ns, statements[i]);
        matched += outcome.matched;
        modified += outcome.modified;
        if (!outcome.upserted_id) continue;
        ++matched;
        auto shown = upserted.object();
        shown.append("index", static_cast<int32_t>(i)).append("_id", *outcome.upserted_id);
      } catch (const OperationError& error) {
        statement.failed(error);
        op.check_interrupt();
        errors.add(i, error);
        if (ordered || op.transaction) break;
      }
    }
    reply.append("n", static_cast<int32_t>(matched));
    errors.append(reply);
    if (upserted.count() > 0) reply.append("upserted", upserted.done_value());
    reply.append("nModified", static_cast<int32_t>(modified));
    if (op.retry) op.retry->append_retried(reply);
  }
};

}  // namespace

std::unique_ptr<Command> make_update_command() {
  return std::make_unique<Update>();
}

}  // namespace server
