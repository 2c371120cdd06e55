#include "bench/measure/process.h"

#include <ctime>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

namespace bench {
namespace {

uint64_t switches_of(const std::filesystem::path& thread) {
  std::ifstream status(thread / "status");
  std::string line;
  uint64_t sum = 0;
  while (std::getline(status, line)) {
    // The file has lines such as "voluntary_ctxt_switches: 17" and "nonvoluntary_ctxt_switches: 4".
    if (const auto at = line.find("ctxt_switches:"); at != line.npos) sum += std::stoull(line.substr(at + 14));
  }
  return sum;
}

}  // namespace

Usage usage_of(pid_t pid) {
  clockid_t clock = 0;
  timespec time{};
  if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &time) != 0)
    throw std::runtime_error("there is no process " + std::to_string(pid));
  Usage usage{static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9, 0};
  std::error_code gone;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task", gone))
    usage.switches += switches_of(thread.path());
  return usage;
}

}  // namespace bench
