// createSnapshot declares a snapshot of the whole server.
#include "base/error.h"
#include "server/commands/versions/snapshots.h"
#include "server/core/arguments.h"
#include "server/core/command.h"
#include "server/core/services.h"
#include "versions/database/databases.h"

namespace server {
namespace {

using base::ErrorCode;
using base::OperationError;

class CreateSnapshot : public Command {
 public:
  std::string_view name() const override { return "createSnapshot"; }
  std::string_view help() const override {
    return "declare a snapshot of the whole server\n{ createSnapshot: 1, name: <string> } or { createSnapshot: <name> }\n"
           "What is overwritten from now on stays readable as <database>@<name>, or <database>@s<number>. Nobody waits, nothing "
           "is copied.";
  }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"name"};
    return names;
  }
  bool writes() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const Arguments arguments(request);
    auto given = arguments.string("name");
    // The name may be the first field's value, as with branches and tags.
    if (arguments.any("createSnapshot").is_string()) {
      if (given)
        throw OperationError(ErrorCode::invalid_options, "a snapshot has one name: that of 'createSnapshot' or of 'name'");
      given = arguments.string("createSnapshot");
    }
    if (given) versions::check_new_name(*given);
    past_of(op);
    append_snapshot(op.services().databases->declare_snapshot(std::string(given.value_or("")), [&] { op.check_interrupt(); }),
                    reply);
  }
};

}  // namespace

std::unique_ptr<Command> make_create_snapshot_command() {
  return std::make_unique<CreateSnapshot>();
}

}  // namespace server
