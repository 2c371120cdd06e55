// driverOIDTest returns an ObjectId, also as text, so that drivers can compare it with their own.
#include "base/error.h"
#include "server/core/command.h"

namespace server {
namespace {

class DriverOIDTest : public Command {
 public:
  std::string_view name() const override { return "driverOIDTest"; }
  std::string_view help() const override { return "no help defined"; }
  bool before_auth() const override { return true; }

  void run(OperationContext&, const Request& request, bson::Builder& reply) override {
    const auto id = request.body.first();
    if (id.type() != bson::Type::object_id) throw base::OperationError(10065, "not oid");
    reply.append("oid", static_cast<bson::ValueView>(id)).append("str", id.as_object_id().to_hex());
  }
};

}  // namespace

std::unique_ptr<Command> make_driver_oid_command() {
  return std::make_unique<DriverOIDTest>();
}

}  // namespace server
