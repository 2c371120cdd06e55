// hostInfo: the machine underneath.
#include <sys/utsname.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "base/clock.h"
#include "server/command.h"
#include "server/operation.h"
#include "server/services.h"

namespace server {
namespace {

// PRETTY_NAME of /etc/os-release; "Linux" where there is none.
std::string distribution() {
  std::ifstream in("/etc/os-release");
  const std::string key = "PRETTY_NAME=\"";
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(key) && line.ends_with('"')) return line.substr(key.size(), line.size() - key.size() - 1);
  }
  return "Linux";
}

class HostInfo : public Command {
 public:
  std::string_view name() const override { return "hostInfo"; }
  std::string_view help() const override { return "returns information about the daemon's host"; }

  void run(OperationContext& op, const Request&, bson::Builder& reply) override {
    utsname machine{};
    ::uname(&machine);
    const int64_t page_bytes = ::sysconf(_SC_PAGESIZE);
    const int64_t memory_mb = ::sysconf(_SC_PHYS_PAGES) * page_bytes / (1 << 20);
    const auto cores = static_cast<int32_t>(std::thread::hardware_concurrency());
    {
      auto system = reply.object("system");
      system.append("currentTime", bson::Date{op.services().clock.wall_ms()})
          .append("hostname", machine.nodename)
          .append("cpuAddrSize", 64)
          .append("memSizeMB", memory_mb)
          .append("memLimitMB", memory_mb)
          .append("numCores", cores)
          .append("numCoresAvailableToProcess", cores)
          .append("cpuArch", machine.machine)
          .append("numaEnabled", false);
    }
    {
      auto os = reply.object("os");
      os.append("type", "Linux").append("name", distribution()).append("version", std::string("Kernel ") + machine.release);
    }
    auto extra = reply.object("extra");
    extra.append("versionString", machine.version).append("kernelVersion", machine.release).append("pageSize", page_bytes);
  }
};

}  // namespace

std::unique_ptr<Command> make_host_info_command() { return std::make_unique<HostInfo>(); }

}  // namespace server
