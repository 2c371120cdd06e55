// buildInfo: which server this is, and which MongoDB it behaves like.
#include "server/command.h"
#include "server/options.h"

namespace server {
namespace {

class BuildInfo : public Command {
 public:
  std::string_view name() const override { return "buildInfo"; }
  std::vector<std::string_view> aliases() const override { return {"buildinfo"}; }
  std::string_view help() const override { return "get version #, etc.\n{ buildinfo:1 }"; }
  bool before_auth() const override { return true; }

  void run(OperationContext&, const Request&, bson::Builder& reply) override {
    reply.append("version", compatible_version)
        .append("gitVersion", "palimpsest-" + std::string(palimpsest_version()))
        .append("palimpsestVersion", palimpsest_version());
    { reply.array("modules"); }
    reply.append("allocator", "system").append("javascriptEngine", "none").append("sysInfo", "deprecated");
    {
      auto version = reply.array("versionArray");
      version.append(7).append(0).append(14).append(0);
    }
    {
      auto environment = reply.object("buildEnvironment");
      environment.append("cxx", __VERSION__).append("target_arch", "x86_64").append("target_os", "linux");
    }
    reply.append("bits", 64).append("debug", debug_build).append("maxBsonObjectSize", static_cast<int32_t>(bson::document_bytes_max));
    auto engines = reply.array("storageEngines");
    engines.append("wiredTiger");
  }

 private:
#ifdef NDEBUG
  static constexpr bool debug_build = false;
#else
  static constexpr bool debug_build = true;
#endif
};

}  // namespace

std::unique_ptr<Command> make_build_info_command() { return std::make_unique<BuildInfo>(); }

}  // namespace server
