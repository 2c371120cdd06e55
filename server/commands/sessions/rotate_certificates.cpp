// rotateCertificates reads the files of TLS anew. Connections that exist keep the certificates that they began with.
#include "base/error.h"
#include "base/log.h"
#include "base/tls/contexts.h"
#include "server/core/command.h"
#include "server/core/operation.h"
#include "server/core/services.h"

namespace server {
namespace {

class RotateCertificates : public Command {
 public:
  std::string_view name() const override { return "rotateCertificates"; }
  std::string_view help() const override { return "rotate certificates for new TLS connections"; }
  bool admin_only() const override { return true; }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view known[] = {"message"};
    return known;
  }

  void run(OperationContext& op, const Request& request, bson::Builder&) override {
    base::tls::Contexts* const tls = op.services().tls;
    if (!tls) {
      throw base::OperationError(base::ErrorCode::command_not_supported,
                                 "this server has no TLS, so it has no certificates to rotate");
    }
    const auto message = request.body.find("message");
    if (message.exists() && !message.is_string()) {
      throw base::OperationError(base::ErrorCode::type_mismatch,
                                 "BSON field 'rotateCertificates.message' is the wrong type, expected type 'string'");
    }
    tls->reload();
    base::Attributes attributes;
    attributes.add("subject", tls->own().subject);
    if (message.is_string()) attributes.add("message", message.as_string());
    base::log(base::Severity::info, base::LogComponent::network, 4913400, "Successfully rotated X509 certificates", attributes);
  }
};

}  // namespace

std::unique_ptr<Command> make_rotate_certificates_command() {
  return std::make_unique<RotateCertificates>();
}

}  // namespace server
