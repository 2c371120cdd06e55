// killAllSessionsByPattern kills every session that one of the patterns fits:
// {lsid: {id, uid}}, {uid}, or {} for all.
#include "base/error.h"
#include "server/commands/sessions/sessions.h"
#include "server/core/arguments.h"
#include "server/core/operation.h"
#include "server/core/session_registry.h"

namespace server {
namespace {

using base::ErrorCode;
using base::OperationError;

constexpr size_t digest_bytes = 32;

void check_digest(const bson::ValueView& user) {
  if (user.type() != bson::Type::binary || user.as_binary().bytes.size() != digest_bytes)
    throw OperationError(ErrorCode::bad_value, "uid must be a SHA-256 digest of 32 bytes");
}

// A session that is named without its user is the client's own.
bson::Bytes pattern_of(const OperationContext& op, const Arguments& fields) {
  fields.only({"lsid", "uid", "users", "roles"});
  for (const char* others : {"users", "roles"}) {
    if (const auto names = fields.array(others); names && !names->empty())
      throw OperationError(ErrorCode::unauthorized, "Not authorized to impersonate in killAllSessionsByPattern");
  }
  if (const auto lsid = fields.object("lsid")) {
    check_session_id(fields.dotted("lsid"), lsid->find("id"));
    const auto user = lsid->find("uid");
    if (!user.exists()) return session_key(*lsid, op.client());
    check_digest(user);
    return session_key_of(*lsid);
  }
  const auto user = fields.any("uid");
  if (!user.exists()) return {};
  check_digest(user);
  return bson::Bytes(user.as_binary().bytes);
}

class KillAllSessionsByPattern : public Command {
 public:
  std::string_view name() const override { return "killAllSessionsByPattern"; }
  std::string_view help() const override { return "kill logical sessions by pattern"; }
  std::optional<FieldNames> fields() const override { return FieldNames(); }

  void run(OperationContext& op, const Request& request, bson::Builder&) override {
    const auto given = Arguments(request).required_array("killAllSessionsByPattern");
    if (given.empty()) return kill_sessions(op, {});
    std::vector<bson::Bytes> patterns;
    for (const auto& pattern : given) {
      const std::string path = "killAllSessionsByPattern.killAllSessionsByPattern." + std::string(pattern.name);
      if (!pattern.is_object()) throw not_an_object(path, pattern);
      patterns.push_back(pattern_of(op, Arguments(path, pattern.as_document())));
    }
    for (const bson::Bytes& pattern : patterns) kill_sessions(op, pattern);
  }
};

}  // namespace

std::unique_ptr<Command> make_kill_all_sessions_by_pattern_command() {
  return std::make_unique<KillAllSessionsByPattern>();
}

}  // namespace server
