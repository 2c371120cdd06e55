// $currentOp returns the running operations as documents.
#include "server/core/names.h"
#include "server/core/operation.h"
#include "server/core/options.h"
#include "server/core/services.h"
#include "server/query/operation_view.h"
#include "server/query/stages/registry.h"
#include "server/query/stages/support.h"

namespace server::query {
namespace {

class OperationList final : public ListStage {
 public:
  OperationList(std::vector<bson::Document> documents, std::unique_ptr<Held> held)
      : ListStage(std::move(documents)), held_(std::move(held)) {}

 private:
  std::unique_ptr<Held> held_;  // the documents
};

class CurrentOpStage final : public PlainSpec {
 public:
  CurrentOpStage(const bson::Element& specification, const OperationViewOptions& options, bool all_users)
      : PlainSpec("$currentOp", specification), options_(options), all_users_(all_users) {}
  bool is_source() const override { return true; }
  bool in_facet() const override { return false; }

  StagePtr start(StagePtr, PipelineContext& context) const override {
    // Without access control every operation is the client's own.
    OperationViewOptions options = options_;
    if (!all_users_ && context.op->services().options.authorization) options.of = &context.op->client();
    auto held = std::make_unique<Held>(context.allowance.memory());
    auto documents = view_operations(context.op->services(), options, *held);
    return std::make_unique<OperationList>(std::move(documents), std::move(held));
  }

 private:
  const OperationViewOptions options_;
  const bool all_users_;
};

}  // namespace

StageSpecPtr parse_current_op(const bson::Element& specification, PipelineContext& context) {
  if (!specification.is_object()) {
    refuse(base::ErrorCode::failed_to_parse,
           "$currentOp options must be specified in an object, but found: " + type_of(specification));
  }
  if (context.db != "admin" || !context.collection.empty()) {
    refuse(base::ErrorCode::invalid_namespace, "$currentOp must be run against the 'admin' database with {aggregate: 1}");
  }
  refuse_repeated("$currentOp", specification.as_document());
  OperationViewOptions options{.whole_commands = true};
  bool all_users = false;
  for (const bson::Element& field : specification.as_document()) {
    // There are no other shards.
    const bool known = field.name == "allUsers" || field.name == "idleConnections" || field.name == "idleSessions" ||
                       field.name == "localOps" || field.name == "truncateOps" || field.name == "idleCursors" ||
                       field.name == "backtrace";
    if (!known)
      refuse(base::ErrorCode::failed_to_parse, "Unrecognized option '" + std::string(field.name) + "' in $currentOp stage.");
    if (field.type() != bson::Type::boolean) {
      refuse(base::ErrorCode::failed_to_parse,
             "The '" + std::string(field.name) +
                 "' parameter of the $currentOp stage must be a boolean value, but found: " + type_of(field));
    }
    if (field.name == "allUsers") all_users = field.as_bool();
    if (field.name == "idleConnections") options.idle_connections = field.as_bool();
    if (field.name == "idleCursors") options.idle_cursors = field.as_bool();
    if (field.name == "idleSessions") options.idle_sessions = field.as_bool();
    if (field.name == "truncateOps") options.whole_commands = !field.as_bool();
  }
  return std::make_unique<CurrentOpStage>(specification, options, all_users);
}

}  // namespace server::query
