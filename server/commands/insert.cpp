// insert: documents into a collection.
#include "server/arguments.h"
#include "server/commands/write_command.h"
#include "server/operation.h"
#include "server/write/insert.h"

namespace server {
namespace {

class Insert : public Command {
 public:
  std::string_view name() const override { return "insert"; }
  std::string_view help() const override { return "insert documents"; }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"documents", "ordered", "bypassDocumentValidation", "stmtIds", "collectionUUID"};
    return names;
  }
  bool writes() const override { return true; }
  bool takes_collection() const override { return true; }
  OpKind kind() const override { return OpKind::insert; }
  bool stable_api() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const Arguments arguments(request);
    const bool ordered = arguments.boolean("ordered").value_or(true);
    arguments.loose_boolean("bypassDocumentValidation");
    const auto documents = statements_of(request, "documents");
    const auto outcome = write::insert_documents(op, write_namespace(op, request), documents, ordered);
    reply.append("n", static_cast<int32_t>(outcome.inserted));
    outcome.errors.append(reply);
  }
};

}  // namespace

std::unique_ptr<Command> make_insert_command() { return std::make_unique<Insert>(); }

}  // namespace server
