// validate: reads a collection through and compares records, checksums and indexes.
#include "base/error.h"
#include "server/arguments.h"
#include "server/command.h"
#include "server/commands/scale.h"
#include "server/operation.h"
#include "server/write/target.h"
#include "storage/catalog.h"
#include "storage/engine.h"

namespace server {
namespace {

using base::ErrorCode;
using base::OperationError;

void append_list(bson::Builder& reply, std::string_view name, const std::vector<std::string>& lines) {
  auto list = reply.array(name);
  for (const auto& line : lines) list.append(line);
}

void append_report(const storage::Collection& collection, const storage::ValidateReport& report, bson::Builder& reply) {
  reply.append("ns", collection.ns()).append("uuid", bson::Binary{4, collection.uuid_bytes()});
  append_count(reply, "nInvalidDocuments", report.invalid_documents);
  reply.append("nNonCompliantDocuments", 0);
  append_count(reply, "nrecords", report.records);
  append_count(reply, "nIndexes", static_cast<int64_t>(report.indexes.size()));
  {
    auto keys = reply.object("keysPerIndex");
    for (const auto& index : report.indexes) append_count(keys, index.name, index.keys);
  }
  {
    auto details = reply.object("indexDetails");
    for (const auto& index : report.indexes) {
      auto detail = details.object(index.name);
      detail.append("valid", index.valid);
    }
  }
  append_count(reply, "nCorruptRecords", report.corrupt_records);
  reply.append("valid", report.valid).append("repaired", false);
  append_list(reply, "warnings", report.warnings);
  append_list(reply, "errors", report.errors);
  if (!report.valid) {
    reply.append("advice", "The collection is damaged in the places that `errors` names; restore them from a backup or another member.");
  }
}

class Validate : public Command {
 public:
  std::string_view name() const override { return "validate"; }
  std::string_view help() const override {
    return "Validate contents of a namespace by scanning its data structures for correctness.\nThis is a slow operation.\n"
           "{ validate: \"collection\", full: <bool> }";
  }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"full", "background", "repair", "enforceFastCount", "checkBSONConformance",
                                                 "metadata", "scandata", "fixMultikey"};
    return names;
  }
  bool takes_collection() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const Arguments arguments(request);
    const bool full = arguments.loose_boolean("full").value_or(false);
    const bool background = arguments.loose_boolean("background").value_or(false);
    if (arguments.loose_boolean("repair").value_or(false) || arguments.loose_boolean("fixMultikey").value_or(false)) {
      throw OperationError(ErrorCode::command_not_supported, "validate does not repair: it reports what it finds");
    }
    if (background && full) {
      throw OperationError(ErrorCode::invalid_options,
                           "Running the validate command with both { background: true } and { full: true } is not supported.");
    }
    const std::string ns = request.ns();
    storage::Catalog& catalog = write::engine_of(op).catalog();
    const auto collection = catalog.open(ns);
    if (!collection) {
      throw OperationError(ErrorCode::namespace_not_found, "Collection '" + ns + "' does not exist to validate.");
    }
    append_report(*collection, catalog.validate(collection, full, [&op] { op.check_interrupt(); }), reply);
  }
};

}  // namespace

std::unique_ptr<Command> make_validate_command() { return std::make_unique<Validate>(); }

}  // namespace server
