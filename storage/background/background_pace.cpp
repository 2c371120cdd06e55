#include "storage/background/background_pace.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>

namespace storage {

namespace {

constexpr uint64_t waits_percent = 20;  // This is a percentage of the time that the thread ran; shorter waits are ignored.
constexpr uint64_t rest_factor = 12;    // The thread keeps 1 / 13 of a core when all cores are wanted.
constexpr std::chrono::microseconds rest_max{100'000};

}  // namespace

BackgroundPace::~BackgroundPace() {
  if (file_ >= 0) close(file_);
}

// The file contains "run_ns waited_ns slices".
bool BackgroundPace::read(uint64_t& run_ns, uint64_t& waited_ns) {
  if (file_ == -2) {
    const std::string path = "/proc/self/task/" + std::to_string(syscall(SYS_gettid)) + "/schedstat";
    file_ = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  }
  char text[96];
  const ssize_t bytes = file_ < 0 ? -1 : pread(file_, text, sizeof text - 1, 0);
  if (bytes <= 0) return false;
  text[bytes] = 0;
  return std::sscanf(text, "%lu %lu", &run_ns, &waited_ns) == 2;
}

std::chrono::microseconds BackgroundPace::rest() {
  uint64_t run_ns = 0, waited_ns = 0;
  if (!read(run_ns, waited_ns)) return {};
  const auto rest = rest_after(run_ns - run_ns_, waited_ns - waited_ns_);
  run_ns_ = run_ns;
  waited_ns_ = waited_ns;
  return rest;
}

std::chrono::microseconds BackgroundPace::rest_after(uint64_t run_ns, uint64_t waited_ns) {
  if (waited_ns * 100 < run_ns * waits_percent) return {};
  return std::min(rest_max, std::chrono::microseconds(run_ns * rest_factor / 1000));
}

}  // namespace storage
