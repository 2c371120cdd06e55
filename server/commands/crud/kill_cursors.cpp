// killCursors closes cursors that the client no longer needs.
#include "base/error.h"
#include "server/core/arguments.h"
#include "server/core/command.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/query/cursor_registry.h"

namespace server {
namespace {

using base::ErrorCode;
constexpr auto cursor_killed = static_cast<ErrorCode>(237);

std::vector<int64_t> requested_ids(const Request& request) {
  std::vector<int64_t> ids;
  for (const bson::Element& id : Arguments("killCursors", request.body).required_array("cursors")) {
    if (id.type() != bson::Type::int64) {
      throw base::OperationError(ErrorCode::type_mismatch, "BSON field 'killCursors.cursors." + std::string(id.name) +
                                                               "' is the wrong type '" + std::string(bson::type_name(id.type())) +
                                                               "', expected type 'long'");
    }
    ids.push_back(id.as_int64());
  }
  return ids;
}

void append_ids(bson::Builder& reply, const char* name, const std::vector<int64_t>& ids) {
  auto array = reply.array(name);
  for (int64_t id : ids) array.append(id);
}

class KillCursors : public Command {
 public:
  std::string_view name() const override { return "killCursors"; }
  std::string_view help() const override { return "kill a list of cursor ids"; }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"cursors"};
    return names;
  }
  bool may_take_collection() const override { return true; }
  bool stable_api() const override { return true; }
  InTransaction in_transaction() const override { return InTransaction::later; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    // Cursors of a whole database have names of their own, such as $cmd.aggregate.
    const bson::Element first = request.body.first();
    const bool is_own = first.is_string() && first.as_string().starts_with("$cmd.");
    const std::string ns = is_own ? request.db + "." + std::string(first.as_string()) : request.ns();
    std::vector<int64_t> killed, not_found;
    for (int64_t id : requested_ids(request)) {
      const auto outcome = op.services().cursors->kill(id, ns, op);
      if (outcome.operation != 0) op.services().operations.kill(outcome.operation, cursor_killed);
      (outcome.found ? killed : not_found).push_back(id);
    }
    append_ids(reply, "cursorsKilled", killed);
    append_ids(reply, "cursorsNotFound", not_found);
    append_ids(reply, "cursorsAlive", {});
    append_ids(reply, "cursorsUnknown", {});
  }
};

}  // namespace

std::unique_ptr<Command> make_kill_cursors_command() {
  return std::make_unique<KillCursors>();
}

}  // namespace server
