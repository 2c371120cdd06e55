// findAndModify changes or removes one document and returns it.
#include "base/error.h"
#include "server/commands/crud/write_command.h"
#include "server/commands/shared/collection_options.h"
#include "server/core/arguments.h"
#include "server/core/operation.h"
#include "server/core/reply_size.h"
#include "server/query/find_request.h"
#include "server/query/projection.h"
#include "server/query/reader.h"
#include "server/query/views.h"
#include "server/write/retry.h"
#include "server/write/statements.h"

namespace server {
namespace {

using base::ErrorCode;
using base::OperationError;

struct Parsed {
  Parsed() = default;
  Parsed(const Parsed&) = delete;  // because its statement points into it
  Parsed& operator=(const Parsed&) = delete;

  write::UpdateStatement statement;
  bool remove = false;
  bool return_new = false;
  std::shared_ptr<const query::Matcher> matcher;
  std::unique_ptr<const query::Projection> projection;  // nullptr: the whole document
  bson::Document let;

  // Returns the document as the reply shows it. Throws BSONObjectTooLarge.
  bson::Document shown(bson::DocumentView document) const {
    if (!projection) return bson::Document(document);
    bson::Document shown = projection->apply(document);
    check_document_size(shown.size());
    return shown;
  }
};

[[noreturn]] void cannot(const char* message) {
  throw OperationError(ErrorCode::failed_to_parse, message);
}

void check_combination(const Parsed& parsed) {
  const bool updates = parsed.statement.update.exists();
  if (!parsed.remove && !updates) cannot("Either an update or remove=true must be specified");
  if (!parsed.remove) {
    if (parsed.statement.update.is_array() && parsed.statement.has_array_filters) {
      cannot("Cannot specify arrayFilters and a pipeline update");
    }
    return;
  }
  if (updates) cannot("Cannot specify both an update and remove=true");
  if (parsed.statement.upsert) cannot("Cannot specify both upsert=true and remove=true ");
  if (parsed.return_new) cannot("Cannot specify both new=true and remove=true; 'remove' always returns the deleted document");
  if (parsed.statement.has_array_filters) cannot("Cannot specify arrayFilters and remove=true");
}

void parse(OperationContext& op, const std::string& ns, const Arguments& arguments, Parsed& parsed) {
  write::UpdateStatement& statement = parsed.statement;
  statement.selection.filter = arguments.object("query").value_or(bson::DocumentView());
  statement.selection.sort = arguments.object("sort").value_or(bson::DocumentView());
  statement.selection.collation = bson::parse_collation(arguments.any("collation"));
  parsed.let = query::constant_let(op, arguments.object("let").value_or(bson::DocumentView()), statement.selection.collation);
  statement.selection.let = parsed.let;
  statement.selection.hint = arguments.any("hint");
  query::checked_hint(arguments.any("hint"));
  statement.update = arguments.any("update");
  if (statement.update.exists() && !statement.update.is_object() && !statement.update.is_array()) {
    cannot("Update argument must be either an object or an array");
  }
  if (const auto filters = arguments.array("arrayFilters")) {
    statement.array_filters = *filters;
    statement.has_array_filters = true;
  }
  statement.upsert = arguments.loose_boolean("upsert").value_or(false);
  parsed.remove = arguments.loose_boolean("remove").value_or(false);
  parsed.return_new = arguments.loose_boolean("new").value_or(false);
  statement.keep_empty_timestamps = arguments.boolean("bypassEmptyTsReplacement").value_or(false);
  arguments.loose_boolean("bypassDocumentValidation");
  check_combination(parsed);
  if (const auto fields = arguments.object("fields"); fields && !fields->empty()) {
    const auto context =
        query::filter_context(op, statement.selection.let, query::collator_for(op, ns, statement.selection.collation));
    parsed.matcher = query::Matcher::parse(statement.selection.filter, context);
    parsed.projection = query::Projection::parse(*fields, parsed.matcher.get(), context);
    if (parsed.return_new && parsed.projection->positional()) {
      throw OperationError(ErrorCode::bad_value, "Cannot use a positional projection and return the new document.");
    }
  }
  (parsed.return_new ? statement.keep_after : statement.keep_before) = [&parsed](bson::DocumentView document) {
    return parsed.shown(document);
  };
}

class FindAndModify : public Command {
 public:
  std::string_view name() const override { return "findAndModify"; }
  std::vector<std::string_view> aliases() const override { return {"findandmodify"}; }
  std::string_view help() const override {
    return "{ findAndModify: \"collection\", query: {processed:false}, update: {$set: {processed:true}}, new: true}\n"
           "{ findAndModify: \"collection\", query: {processed:false}, remove: true, sort: {priority:-1}}\n"
           "Either update or remove is required, all other fields have default values.";
  }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"query",
                                                 "fields",
                                                 "sort",
                                                 "hint",
                                                 "remove",
                                                 "update",
                                                 "new",
                                                 "upsert",
                                                 "arrayFilters",
                                                 "collation",
                                                 "let",
                                                 "stmtId",
                                                 "collectionUUID",
                                                 "runtimeConstants",
                                                 "bypassDocumentValidation",
                                                 "sampleId",
                                                 "bypassEmptyTsReplacement"};
    return names;
  }
  bool writes() const override { return true; }
  bool takes_collection() const override { return true; }
  bool stable_api() const override { return true; }
  InTransaction in_transaction() const override { return InTransaction::allowed; }
  bool retryable() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    Parsed parsed;
    parse(op, request.ns(), Arguments(request), parsed);
    const std::string ns = write_namespace(op, request);
    if (query::find_series(op, ns)) query::require_no_view(op, ns);  // their documents are no records
    auto ids = write::statement_ids("findAndModify", request.body, 1);
    if (op.retry) {
      op.retry->set_ids(std::move(ids));
      if (op.retry->executed()) return answer_again(op, parsed, reply);
      using Image = replication::SessionWrite::Image;
      op.retry->keep_image(parsed.return_new ? Image::after : Image::before);
    }
    if (parsed.remove) return remove(op, ns, parsed, reply);

    const auto outcome = update(op, ns, parsed.statement);
    {
      auto last = reply.object("lastErrorObject");
      last.append("n", outcome.matched > 0 || outcome.upserted_id ? 1 : 0).append("updatedExisting", outcome.matched > 0);
      if (outcome.upserted_id) last.append("upserted", *outcome.upserted_id);
    }
    append_value(parsed.return_new ? outcome.after : outcome.before, reply);
  }

 private:
  [[noreturn]] static void other_kind(const char* retried, const char* before) {
    throw OperationError(40606, std::string("findAndModify retry request: ") + retried +
                                    " is not compatible with previous write in the transaction of type: " + before);
  }

  // An earlier attempt executed the statement: its answer comes from the log and the image kept beside it.
  static void answer_again(OperationContext& op, const Parsed& parsed, bson::Builder& reply) {
    const bson::Document entry = op.retry->entry();
    const std::string_view kind = entry["op"].as_string();
    if (parsed.remove != (kind == "d")) other_kind(parsed.remove ? "remove" : "update", kind == "d" ? "delete" : "update");
    if (!parsed.remove && !parsed.statement.upsert && kind == "i") other_kind("update", "insert");
    std::optional<bson::Document> document;
    {
      auto last = reply.object("lastErrorObject");
      last.append("n", 1);
      if (kind == "u") last.append("updatedExisting", true);
      if (kind == "i") {
        const auto inserted = entry["o"].as_document();
        last.append("updatedExisting", false).append("upserted", static_cast<bson::ValueView>(inserted["_id"]));
        if (parsed.return_new) document.emplace(inserted);
      }
    }
    if (kind != "i") {
      const bool kept_after = entry["needsRetryImage"].is_string() && entry["needsRetryImage"].as_string() == "postImage";
      if (kept_after != parsed.return_new) {
        throw OperationError(40611, "findAndModify retry request wants the document as it was " +
                                        std::string(parsed.return_new ? "after" : "before") +
                                        " the change, but the other one is kept");
      }
      document = op.retry->image();
    }
    if (document) document = parsed.shown(*document);
    append_value(document, reply);
    reply.append("retriedStmtId", op.retry->statement());
  }

  // An error of the document that would be written says so; others are the statement's.
  static write::UpdateOutcome update(OperationContext& op, const std::string& ns, const write::UpdateStatement& statement) {
    try {
      return write::run_update(op, ns, statement);
    } catch (const OperationError& error) {
      if (error.code() == ErrorCode::duplicate_key || error.code() == ErrorCode::document_validation_failure ||
          error.code() == ErrorCode::immutable_field)
        op.error_context = "Plan executor error during findAndModify";
      throw;
    }
  }

  static void remove(OperationContext& op, const std::string& ns, const Parsed& parsed, bson::Builder& reply) {
    const auto outcome = write::run_delete(op, ns, parsed.statement.selection, parsed.statement.keep_before);
    {
      auto last = reply.object("lastErrorObject");
      last.append("n", static_cast<int32_t>(outcome.deleted));
    }
    append_value(outcome.before, reply);
  }

  static void append_value(const std::optional<bson::Document>& document, bson::Builder& reply) {
    if (document)
      reply.append("value", *document);
    else
      reply.append_null("value");
  }
};

}  // namespace

FindAndModifyStatement parse_find_and_modify(OperationContext& op, const Request& request) {
  Parsed parsed;
  parse(op, request.ns(), Arguments("findAndModify", request.body), parsed);
  if (!parsed.remove) write::check_update(op, request.ns(), parsed.statement);
  parsed.statement.keep_before = parsed.statement.keep_after = nullptr;  // they point to what is parsed
  parsed.statement.selection.let = {};
  return {std::move(parsed.statement), parsed.remove, std::move(parsed.let)};
}

std::unique_ptr<Command> make_find_and_modify_command() {
  return std::make_unique<FindAndModify>();
}

}  // namespace server
