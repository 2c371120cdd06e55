#include "server/commands/crud/bulk_write_request.h"

#include <algorithm>

#include "base/error.h"
#include "bson/json.h"
#include "server/commands/crud/write_command.h"
#include "server/commands/shared/collection_options.h"
#include "server/core/arguments.h"
#include "server/core/names.h"
#include "server/core/operation.h"
#include "server/query/find_request.h"
#include "server/write/namespaces.h"
#include "server/write/retry.h"

namespace server {

namespace {

using base::ErrorCode;
using base::OperationError;
using Kind = BulkWriteRequest::Kind;

BulkWriteRequest::Namespace read_namespace(bson::DocumentView entry) {
  const Arguments arguments("bulkWrite.nsInfo", entry);
  arguments.only({"ns", "collectionUUID", "encryptionInformation"});
  BulkWriteRequest::Namespace read{.ns = std::string(arguments.required_string("ns")),
                                   .collection_uuid = arguments.any("collectionUUID")};
  check_uuid(read.collection_uuid);
  if (arguments.any("encryptionInformation").exists()) {
    throw OperationError(ErrorCode::invalid_options,
                         "encryptionInformation is for collections with encrypted fields, and there are none");
  }
  const std::string_view database = write::database_of(read.ns);
  const bool dotted = database.size() < read.ns.size();
  if (!dotted || !valid_database_name(database) || !valid_collection_name(write::collection_of(read.ns))) {
    const std::string shown = dotted && write::collection_of(read.ns).empty() ? std::string(database) : read.ns;
    throw OperationError(ErrorCode::invalid_namespace, "Invalid namespace specified for bulkWrite: '" + shown + "'");
  }
  return read;
}

// Returns the namespace that an operation is about. `field` is the operation's kind.
size_t namespace_index(const Arguments& arguments, std::string_view field, size_t namespaces) {
  const int64_t index = arguments.required_integer(field);
  if (index < 0) {
    throw OperationError(ErrorCode::bad_value, "BSON field '" + std::string(field) + "' value must be >= 0, actual value '" +
                                                   std::to_string(index) + "'");
  }
  if (static_cast<uint64_t>(index) >= namespaces) {
    throw OperationError(ErrorCode::bad_value,
                         "BulkWrite ops entry " + bson::to_shell(arguments.fields()) + " has an invalid nsInfo index.");
  }
  return static_cast<size_t>(index);
}

void read_selection(const Arguments& arguments, query::StatementLets& lets, write::Selection& selection) {
  selection.filter = arguments.required_object("filter");
  selection.all = arguments.boolean("multi").value_or(false);
  selection.hint = arguments.any("hint");
  query::checked_hint(arguments.any("hint"));
  selection.collation = bson::parse_collation(arguments.any("collation"));
  selection.let = lets.of(selection.collation);
}

void read_update(const Arguments& arguments, query::StatementLets& lets, write::UpdateStatement& update) {
  arguments.only({"update", "filter", "updateMods", "multi", "upsert", "upsertSupplied", "arrayFilters", "hint", "constants",
                  "collation", "sort", "sampleId"});
  read_selection(arguments, lets, update.selection);
  update.selection.sort = arguments.object("sort").value_or(bson::DocumentView());
  update.update = arguments.any("updateMods");
  if (!update.update.exists())
    throw OperationError(40414, "BSON field 'bulkWrite.ops.updateMods' is missing but a required field");
  if (!update.update.is_object() && !update.update.is_array()) {
    throw OperationError(ErrorCode::failed_to_parse, "Update argument must be either an object or an array");
  }
  if (const auto constants = arguments.object("constants")) {
    update.constants = *constants;
    update.has_constants = true;
  }
  if (const auto filters = arguments.array("arrayFilters")) {
    update.array_filters = *filters;
    update.has_array_filters = true;
  }
  update.upsert = arguments.boolean("upsert").value_or(false);
  update.upsert_supplied = arguments.boolean("upsertSupplied").value_or(false);
}

BulkWriteRequest::Op read_op(bson::DocumentView document, query::StatementLets& lets, size_t namespaces) {
  const Arguments arguments("bulkWrite.ops", document);
  const std::string_view kind = document.first().name;
  BulkWriteRequest::Op op{};
  op.given = document;
  if (kind == "insert") {
    op.kind = Kind::insert;
    arguments.only({"insert", "document"});
    op.ns = namespace_index(arguments, kind, namespaces);
    op.document = arguments.required_object("document");
  } else if (kind == "update") {
    op.kind = Kind::update;
    read_update(arguments, lets, op.update);
    op.ns = namespace_index(arguments, kind, namespaces);
  } else if (kind == "delete") {
    op.kind = Kind::remove;
    arguments.only({"delete", "filter", "multi", "hint", "collation", "sampleId"});
    read_selection(arguments, lets, op.selection);
    op.ns = namespace_index(arguments, kind, namespaces);
  } else {
    throw OperationError(40415, "BSON field 'bulkWrite." + std::string(kind) + "' is an unknown field.");
  }
  return op;
}

void check_retryable(const OperationContext& op, const BulkWriteRequest& request) {
  if (!op.retry) return;
  for (const auto& one : request.namespaces) write::check_retryable(one.ns);
  for (const auto& one : request.ops) {
    const bool update = one.kind == Kind::update, many = update ? one.update.selection.all : one.selection.all;
    if (one.kind == Kind::insert || !many) continue;
    throw OperationError(ErrorCode::invalid_options, std::string("BulkWrite ") + (update ? "update" : "delete") +
                                                         " with Retryable Writes and multi:true is not supported.");
  }
}

}  // namespace

void BulkWriteRequest::read(const OperationContext& op, const Request& request) {
  const Arguments arguments("bulkWrite", request.body);
  ordered = arguments.boolean("ordered").value_or(true);
  errors_only = arguments.boolean("errorsOnly").value_or(false);
  keep_empty_timestamps = arguments.boolean("bypassEmptyTsReplacement").value_or(false);
  arguments.loose_boolean("bypassDocumentValidation");
  arguments.object("cursor");
  lets.emplace(op, arguments.object("let").value_or(bson::DocumentView()));
  if (!request.sequence("nsInfo")) arguments.required_array("nsInfo");
  for (const auto& entry : request.documents("nsInfo")) namespaces.push_back(read_namespace(entry));
  const auto statements = statements_of(request, "ops");
  ops.reserve(statements.size());
  for (const auto& statement : statements) ops.push_back(read_op(statement, *lets, namespaces.size()));
  for (auto& one : ops) one.update.keep_empty_timestamps = keep_empty_timestamps;
  statement_ids = write::statement_ids("bulkWrite", request.body, ops.size());
  check_retryable(op, *this);
  for (const auto& one : ops) write::check_writable(namespaces[one.ns].ns);
}

}  // namespace server
