// buildInfo says which server this is, how it was built, and which MongoDB it behaves like.
#include <openssl/crypto.h>

#include "server/core/command.h"
#include "server/core/commit_facts.h"
#include "server/core/options.h"
#include "server/script/engine.h"

namespace server {
namespace {

#ifdef NDEBUG
constexpr bool debug_build = false;
#else
constexpr bool debug_build = true;
#endif

#if defined(__x86_64__)
constexpr std::string_view architecture = "x86_64";
#elif defined(__aarch64__)
constexpr std::string_view architecture = "aarch64";
#else
constexpr std::string_view architecture = "unknown";
#endif

// One compiler with these flags compiles C and C++ sources, and links them.
void append_environment(bson::Builder& reply) {
  auto environment = reply.object("buildEnvironment");
  environment.append("distmod", PALIMPSEST_BUILD_SYSTEM)
      .append("distarch", architecture)
      .append("cc", PALIMPSEST_BUILD_CC)
      .append("ccflags", PALIMPSEST_BUILD_CCFLAGS)
      .append("cxx", PALIMPSEST_BUILD_CXX)
      .append("cxxflags", PALIMPSEST_BUILD_CXXFLAGS)
      .append("linkflags", PALIMPSEST_BUILD_LINKFLAGS)
      .append("target_arch", architecture)
      .append("target_os", "linux")
      .append("cppdefines", debug_build ? "" : "NDEBUG");
}

class BuildInfo : public Command {
 public:
  std::string_view name() const override { return "buildInfo"; }
  std::vector<std::string_view> aliases() const override { return {"buildinfo"}; }
  InTransaction in_transaction() const override { return InTransaction::later; }
  std::string_view help() const override { return "get version #, etc.\n{ buildinfo:1 }"; }
  bool before_auth() const override { return true; }

  void run(OperationContext&, const Request&, bson::Builder& reply) override {
    reply.append("version", compatible_version)
        .append("gitVersion", commit_id())
        .append("palimpsestVersion", palimpsest_version());
    { reply.array("modules"); }
    reply.append("allocator", PALIMPSEST_ALLOCATOR)
        .append("javascriptEngine", script::is_enabled() ? "quickjs" : "none")
        .append("sysInfo", "deprecated");
    {
      auto version = reply.array("versionArray");
      version.append(7).append(0).append(14).append(0);
    }
    // OpenSSL provides hashes alone.
    reply.object("openssl").append("running", OpenSSL_version(OPENSSL_VERSION)).append("compiled", OPENSSL_VERSION_TEXT);
    append_environment(reply);
    reply.append("bits", static_cast<int32_t>(sizeof(void*) * 8)).append("debug", debug_build);
    reply.append("maxBsonObjectSize", static_cast<int32_t>(bson::document_bytes_max));
    auto engines = reply.array("storageEngines");
    engines.append("wiredTiger");
  }
};

}  // namespace

std::unique_ptr<Command> make_build_info_command() {
  return std::make_unique<BuildInfo>();
}

}  // namespace server
