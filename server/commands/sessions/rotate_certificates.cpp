// rotateCertificates reads certificates of TLS anew. There is no TLS, so it refuses.
#include "base/error.h"
#include "server/core/command.h"

namespace server {
namespace {

class RotateCertificates : public Command {
 public:
  std::string_view name() const override { return "rotateCertificates"; }
  std::string_view help() const override { return "rotate certificates for new TLS connections"; }
  bool admin_only() const override { return true; }

  void run(OperationContext&, const Request&, bson::Builder&) override {
    throw base::OperationError(base::ErrorCode::command_not_supported,
                               "this server has no TLS, so it has no certificates to rotate");
  }
};

}  // namespace

std::unique_ptr<Command> make_rotate_certificates_command() {
  return std::make_unique<RotateCertificates>();
}

}  // namespace server
