// hostInfo describes the machine.
#include <gnu/libc-version.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <thread>

#include "base/clock.h"
#include "server/core/command.h"
#include "server/core/operation.h"
#include "server/core/services.h"

namespace server {
namespace {

// Returns PRETTY_NAME of /etc/os-release; "Linux" if there is none.
std::string distribution() {
  std::ifstream in("/etc/os-release");
  const std::string key = "PRETTY_NAME=\"";
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(key) && line.ends_with('"')) return line.substr(key.size(), line.size() - key.size() - 1);
  }
  return "Linux";
}

// The facts of /proc/cpuinfo; empty and 0 if it has none.
struct Processors {
  std::string model, mhz, features;
  int32_t sockets = 0, cores = 0;
};

Processors processors() {
  std::ifstream in("/proc/cpuinfo");
  Processors found;
  std::set<std::string> sockets;
  std::set<std::pair<std::string, std::string>> cores;
  std::string socket;
  for (std::string line; std::getline(in, line);) {
    const size_t colon = line.find(':');
    if (colon == line.npos) continue;
    const std::string key = line.substr(0, line.find_last_not_of(" \t", colon - 1) + 1);
    const std::string value = colon + 2 <= line.size() ? line.substr(colon + 2) : "";
    if (key == "model name" && found.model.empty()) found.model = value;
    if (key == "cpu MHz" && found.mhz.empty()) found.mhz = value;
    if ((key == "flags" || key == "Features") && found.features.empty()) found.features = value;
    if (key == "physical id") sockets.insert(socket = value);
    if (key == "core id") cores.emplace(socket, value);
  }
  found.sockets = static_cast<int32_t>(sockets.size());
  found.cores = static_cast<int32_t>(cores.size());
  return found;
}

int32_t usable_cores(int32_t cores) {
  cpu_set_t usable;
  return ::sched_getaffinity(0, sizeof usable, &usable) == 0 ? CPU_COUNT(&usable) : cores;
}

// Returns how much of the machine's memory the control group allows.
int64_t memory_limit_mb(int64_t memory_mb) {
  for (const char* file : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    int64_t bytes = 0;
    if (std::ifstream(file) >> bytes && bytes > 0) return std::min(memory_mb, bytes >> 20);
  }
  return memory_mb;
}

void append_system(bson::Builder& system, const OperationContext& op, const utsname& machine, const Processors& cpu) {
  const int64_t memory_mb = ::sysconf(_SC_PHYS_PAGES) * ::sysconf(_SC_PAGESIZE) / (1 << 20);
  const auto cores = static_cast<int32_t>(std::thread::hardware_concurrency());
  system.append("currentTime", bson::Date{op.services().clock.wall_ms()})
      .append("hostname", machine.nodename)
      .append("cpuAddrSize", 64)
      .append("memSizeMB", memory_mb)
      .append("memLimitMB", memory_limit_mb(memory_mb))
      .append("numCores", cores)
      .append("numCoresAvailableToProcess", usable_cores(cores));
  if (cpu.cores > 0) system.append("numPhysicalCores", cpu.cores).append("numCpuSockets", cpu.sockets);
  system.append("cpuArch", machine.machine).append("numaEnabled", false);
}

void append_extra(bson::Builder& extra, const utsname& machine, const Processors& cpu) {
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  extra.append("versionString", machine.version)
      .append("libcVersion", ::gnu_get_libc_version())
      .append("kernelVersion", machine.release);
  if (!cpu.model.empty()) extra.append("cpuString", cpu.model);
  if (!cpu.mhz.empty()) extra.append("cpuFrequencyMHz", cpu.mhz);
  if (!cpu.features.empty()) extra.append("cpuFeatures", cpu.features);
  extra.append("pageSize", static_cast<int64_t>(::sysconf(_SC_PAGESIZE)))
      .append("numPages", static_cast<int32_t>(::sysconf(_SC_PHYS_PAGES)));
  extra.append("maxOpenFiles", static_cast<int32_t>(std::min<rlim_t>(files.rlim_cur, INT32_MAX)));
}

class HostInfo : public Command {
 public:
  std::string_view name() const override { return "hostInfo"; }
  std::string_view help() const override { return "returns information about the daemon's host"; }

  void run(OperationContext& op, const Request&, bson::Builder& reply) override {
    utsname machine{};
    ::uname(&machine);
    const Processors cpu = processors();
    {
      auto system = reply.object("system");
      append_system(system, op, machine, cpu);
    }
    reply.object("os")
        .append("type", "Linux")
        .append("name", distribution())
        .append("version", std::string("Kernel ") + machine.release);
    auto extra = reply.object("extra");
    append_extra(extra, machine, cpu);
  }
};

}  // namespace

std::unique_ptr<Command> make_host_info_command() {
  return std::make_unique<HostInfo>();
}

}  // namespace server
