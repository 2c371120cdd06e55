// setFeatureCompatibilityVersion sets which version's features may be used. It is 7.0 and stays so.
#include "base/error.h"
#include "server/core/arguments.h"
#include "server/core/command.h"

namespace server {
namespace {

using base::OperationError;

constexpr std::string_view current = "7.0";

class SetFeatureCompatibilityVersion : public Command {
 public:
  std::string_view name() const override { return "setFeatureCompatibilityVersion"; }
  std::string_view help() const override {
    return "Set the featureCompatibilityVersion used by this server: '7.0' is the one there is\n{ "
           "setFeatureCompatibilityVersion: <string>, confirm: true }";
  }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"confirm"};
    return names;
  }
  bool admin_only() const override { return true; }
  bool writes() const override { return true; }

  void run(OperationContext&, const Request& request, bson::Builder&) override {
    const Arguments arguments(request);
    const std::string_view wanted = arguments.required_string("setFeatureCompatibilityVersion");
    const bool confirmed = arguments.boolean("confirm").value_or(false);
    if (wanted != current && wanted != "6.0" && wanted != "6.3") {
      throw OperationError(4926900,
                           "Invalid feature compatibility version value '" + std::string(wanted) +
                               "'; expected '6.0' or '6.3' or '7.0'. See "
                               "https://docs.mongodb.com/master/release-notes/6.0-compatibility/#feature-compatibility.");
    }
    if (!confirmed) {
      throw OperationError(
          7369100,
          "Once you have downgraded the FCV, if you choose to downgrade the binary version, it will require support assistance. "
          "Please re-run this command with 'confirm: true' to acknowledge this and continue with the FCV downgrade.");
    }
    if (wanted != current) {
      throw OperationError(base::ErrorCode::command_not_supported,
                           "the featureCompatibilityVersion is 7.0, and can't be another one");
    }
  }
};

}  // namespace

std::unique_ptr<Command> make_set_feature_compatibility_version_command() {
  return std::make_unique<SetFeatureCompatibilityVersion>();
}

}  // namespace server
