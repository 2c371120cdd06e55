#include "server/commands/diagnostics/system_metrics.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <thread>

namespace server {
namespace {

// Returns x * factor / divisor; a number that is too large becomes the largest.
int64_t scaled(uint64_t x, uint64_t factor, uint64_t divisor) {
  const auto value = static_cast<double>(x) * static_cast<double>(factor) / static_cast<double>(divisor);
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  return value < static_cast<double>(most) ? static_cast<int64_t>(value) : most;
}

}  // namespace

void append_processor_metrics(std::istream& stat, long ticks_a_second, bson::Builder& out) {
  constexpr std::array times = {"user_ms", "nice_ms",    "system_ms", "idle_ms",  "iowait_ms",
                                "irq_ms",  "softirq_ms", "steal_ms",  "guest_ms", "guest_nice_ms"};
  constexpr std::array counts = {"ctxt", "btime", "processes", "procs_running", "procs_blocked"};
  for (std::string line; std::getline(stat, line);) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    uint64_t value = 0;
    if (name == "cpu") {
      for (size_t i = 0; i < times.size() && words >> value; ++i)
        out.append(times[i], scaled(value, 1000, static_cast<uint64_t>(std::max(1L, ticks_a_second))));
    } else if (std::find(counts.begin(), counts.end(), name) != counts.end() && words >> value) {
      out.append(name, scaled(value, 1, 1));
    }
  }
}

void append_memory_metrics(std::istream& meminfo, bson::Builder& out) {
  for (std::string line; std::getline(meminfo, line);) {
    // A line is "MemTotal:  24 kB"; those without a unit count pages of other sizes.
    std::istringstream words(line);
    std::string name, unit;
    uint64_t value = 0;
    if (!(words >> name >> value >> unit) || unit != "kB" || !name.ends_with(':')) continue;
    name.pop_back();
    out.append(name + "_kb", scaled(value, 1, 1));
  }
}

void append_disk_metrics(std::istream& diskstats, bson::Builder& out) {
  constexpr std::array figures = {"reads",          "reads_merged",  "read_sectors",     "read_time_ms",
                                  "writes",         "writes_merged", "write_sectors",    "write_time_ms",
                                  "io_in_progress", "io_time_ms",    "io_queued_time_ms"};
  for (std::string line; std::getline(diskstats, line);) {
    std::istringstream words(line);
    uint64_t major = 0, minor = 0;
    std::string name;
    std::array<uint64_t, figures.size()> values{};
    if (!(words >> major >> minor >> name)) continue;
    for (auto& value : values) words >> value;
    if (!words || (values[0] == 0 && values[4] == 0)) continue;
    bson::Builder disk = out.object(name);
    for (size_t i = 0; i < figures.size(); ++i) disk.append(figures[i], scaled(values[i], 1, 1));
  }
}

void append_system_metrics(bson::Builder& out) {
  {
    bson::Builder cpu = out.object("cpu");
    cpu.append("num_cpus", static_cast<int32_t>(std::thread::hardware_concurrency()));
    std::ifstream stat("/proc/stat");
    append_processor_metrics(stat, ::sysconf(_SC_CLK_TCK), cpu);
  }
  {
    bson::Builder memory = out.object("memory");
    std::ifstream meminfo("/proc/meminfo");
    append_memory_metrics(meminfo, memory);
  }
  bson::Builder disks = out.object("disks");
  std::ifstream diskstats("/proc/diskstats");
  append_disk_metrics(diskstats, disks);
}

}  // namespace server
