// authenticate logs in by the certificate of the connection.
#include "base/error.h"
#include "bson/builder.h"
#include "server/commands/users/principal_arguments.h"

namespace server {
namespace {

using base::ErrorCode;
using base::OperationError;

class Authenticate : public Command {
 public:
  std::string_view name() const override { return "authenticate"; }
  std::string_view help() const override { return "Authenticates by the certificate of the TLS connection (MONGODB-X509)"; }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"mechanism", "user", "db"};
    return names;
  }
  bool before_auth() const override { return true; }
  bool stable_api() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const Arguments arguments(request);
    const auto mechanism = arguments.string("mechanism");
    if (!mechanism || *mechanism != "MONGODB-X509") {
      throw OperationError(ErrorCode::bad_value, "Unsupported mechanism: " + std::string(mechanism.value_or("MONGODB-CR")) +
                                                     "; the command authenticate takes MONGODB-X509 alone");
    }
    if (request.db != users::external_db)
      throw OperationError(ErrorCode::protocol_error, "X.509 authentication must always use the $external database.");
    const Name user = logins_of(op).by_certificate(op.client(), arguments.string("user").value_or(""), false);
    reply.append("dbname", user.db).append("user", user.name);
  }
};

}  // namespace

std::unique_ptr<Command> make_authenticate_command() {
  return std::make_unique<Authenticate>();
}

}  // namespace server
