// commitValidator shows or sets what the commits of a database must fulfil.
#include "server/commands/shared/branches.h"
#include "server/core/arguments.h"
#include "server/core/operation.h"
#include "server/write/batch.h"
#include "server/write/commit_check.h"

namespace server {
namespace {

class CommitValidator : public Command {
 public:
  std::string_view name() const override { return "commitValidator"; }
  std::string_view help() const override {
    return "what commits of the database must fulfil from now on\n"
           "{ commitValidator: 1 } or { commitValidator: { <collection>: { validator: <query>, pipeline: [ <stages> ] } } }\n"
           "Each document that a commit inserts or changes must match the query; each result of the pipeline over these "
           "documents is a violation. {}: nothing.";
  }
  std::optional<FieldNames> fields() const override { return FieldNames(); }
  bool writes() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const Arguments arguments(request);
    std::optional<bson::Document> given;
    if (!arguments.any("commitValidator").is_number()) {
      given.emplace(arguments.required_object("commitValidator"));
      write::check_validators(op, *given);
    }
    const auto database = branched(op, request);
    const bson::Document now = write::in_transaction(op, [&](storage::Transaction& transaction) {
      if (given) database->set_commit_validators(transaction, *given);
      return database->commit_validators(transaction);
    });
    reply.append("validators", now);
  }
};

}  // namespace

std::unique_ptr<Command> make_commit_validator_command() {
  return std::make_unique<CommitValidator>();
}

}  // namespace server
