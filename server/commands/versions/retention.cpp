// retention shows or sets which commits of a database stay.
#include "base/error.h"
#include "server/commands/shared/branches.h"
#include "server/core/arguments.h"
#include "server/core/operation.h"
#include "server/core/scale.h"
#include "server/write/batch.h"

namespace server {
namespace {

using base::ErrorCode;
using base::OperationError;

class RetentionCommand : public Command {
 public:
  std::string_view name() const override { return "retention"; }
  std::string_view help() const override {
    return "which commits of the database stay, or are to from now on\n"
           "{ retention: 1 } or { retention: { newest: <so many of each branch>, youngerThanSeconds: <number> } }\n"
           "A commit stays for either reason, and where it is a branch's last, tagged, waits to be merged or has lines part at "
           "it. {}: all stay.";
  }
  std::optional<FieldNames> fields() const override { return FieldNames(); }
  bool writes() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const Arguments arguments(request);
    std::optional<versions::RetentionPolicy> given;
    if (!arguments.any("retention").is_number()) given = policy(arguments.required_object("retention"));
    const auto database = branched(op, request);
    const versions::RetentionPolicy now = write::in_transaction(op, [&](storage::Transaction& transaction) {
      if (given) database->set_retention(transaction, *given);
      return database->retention(transaction);
    });
    if (now.newest) append_count(reply, "newest", static_cast<int64_t>(*now.newest));
    if (now.age_ms) append_count(reply, "youngerThanSeconds", *now.age_ms / 1000);
  }

 private:
  static versions::RetentionPolicy policy(bson::DocumentView given) {
    const Arguments arguments("retention.retention", given);
    arguments.only({"newest", "youngerThanSeconds"});
    versions::RetentionPolicy policy;
    const auto at_least_one = [&](std::string_view name, int64_t max) -> std::optional<int64_t> {
      const auto number = arguments.integer(name);
      if (number && (*number < 1 || *number > max))
        throw OperationError(ErrorCode::bad_value, "'" + std::string(name) + "' must be from 1 to " + std::to_string(max));
      return number;
    };
    if (const auto newest = at_least_one("newest", INT64_MAX)) policy.newest = static_cast<uint64_t>(*newest);
    if (const auto seconds = at_least_one("youngerThanSeconds", INT64_MAX / 1'000'000)) policy.age_ms = *seconds * 1000;
    return policy;
  }
};

}  // namespace

std::unique_ptr<Command> make_retention_command() {
  return std::make_unique<RetentionCommand>();
}

}  // namespace server
