// killAllSessions kills every session of the given users; the empty list means the sessions of all.
#include "base/error.h"
#include "server/access/authority.h"
#include "server/commands/sessions/sessions.h"
#include "server/core/arguments.h"

namespace server {
namespace {

class KillAllSessions : public Command {
 public:
  std::string_view name() const override { return "killAllSessions"; }
  std::string_view help() const override { return "kill all logical sessions, for a user, and their operations"; }
  std::optional<FieldNames> fields() const override { return FieldNames(); }

  void run(OperationContext& op, const Request& request, bson::Builder&) override {
    const auto users = Arguments(request).required_array("killAllSessions");
    if (users.empty()) return kill_sessions(op, {});
    std::vector<bson::Bytes> digests;
    for (const auto& user : users) {
      const std::string path = "killAllSessions.killAllSessions." + std::string(user.name);
      if (!user.is_object()) throw not_an_object(path, user);
      const Arguments fields(path, user.as_document());
      fields.only({"user", "db"});
      digests.push_back(
          access::digest_of({std::string(fields.required_string("user")), std::string(fields.required_string("db"))}));
    }
    for (const bson::Bytes& digest : digests) kill_sessions(op, digest);
  }
};

}  // namespace

std::unique_ptr<Command> make_kill_all_sessions_command() {
  return std::make_unique<KillAllSessions>();
}

}  // namespace server
