// serverStatus shows every section that parts of the server registered.
#include <unistd.h>

#include "base/clock.h"
#include "server/core/command.h"
#include "server/core/operation.h"
#include "server/core/options.h"
#include "server/core/services.h"
#include "server/core/status_sections.h"

namespace server {
namespace {

constexpr int usual_port = 27017;

class ServerStatus : public Command {
 public:
  std::string_view name() const override { return "serverStatus"; }
  std::string_view help() const override {
    return "returns lots of administrative server statistics. Optionally set {..., section: 0|1} to leave a section out or in.";
  }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const Services& services = op.services();
    char host[256] = "";
    ::gethostname(host, sizeof host - 1);
    const int64_t up_ms = (services.clock.monotonic_us() - services.started_us) / 1000;
    const int port = services.options.port;
    reply.append("host", port == usual_port ? std::string(host) : std::string(host) + ":" + std::to_string(port))
        .append("version", compatible_version)
        .append("palimpsestVersion", palimpsest_version())
        .append("process", "mongod")  // monitoring tells servers from routers by it
        .append("pid", static_cast<int64_t>(::getpid()))
        .append("uptime", static_cast<double>(up_ms / 1000))  // whole seconds, because tools read it as an integer
        .append("uptimeMillis", up_ms)
        .append("uptimeEstimate", up_ms / 1000)
        .append("localTime", bson::Date{services.clock.wall_ms()});
    const bool all = request.body.find("all").truthy();
    for (const auto& [name, section] : services.status.all()) {
      const auto asked = request.body.find(name);
      if (!(asked.exists() ? asked.truthy() : section.by_default || all)) continue;
      auto object = reply.object(name);
      section.write(op, object);
    }
  }
};

}  // namespace

std::unique_ptr<Command> make_server_status_command() {
  return std::make_unique<ServerStatus>();
}

}  // namespace server
