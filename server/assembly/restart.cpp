#include "server/assembly/restart.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <iostream>

namespace server {
namespace {

constexpr char variable[] = "PALIMPSEST_RESTARTS";
constexpr char own_binary[] = "/proc/self/exe";  // the link works even if a newer binary has taken the path

int64_t now_s() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return now.tv_sec;
}

// Marks every open file, of whichever library, to be closed at exec.
void close_all_on_exec() {
  DIR* directory = ::opendir("/proc/self/fd");
  if (!directory) return;
  while (const dirent* entry = ::readdir(directory)) {
    const int descriptor = std::atoi(entry->d_name);
    if (descriptor > STDERR_FILENO) ::fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  }
  ::closedir(directory);
}

// Signals that ask for the end are blocked, and stay so in the fresh image, which waits for them.
bool end_was_asked_for() {
  sigset_t pending;
  return ::sigpending(&pending) == 0 && (sigismember(&pending, SIGTERM) == 1 || sigismember(&pending, SIGINT) == 1);
}

}  // namespace

RestartHistory::RestartHistory(std::string_view text) {
  while (!text.empty()) {
    int64_t time = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), time);
    if (error != std::errc() || (end != text.data() + text.size() && *end != ',')) {
      times_.clear();
      return;
    }
    times_.push_back(time);
    text.remove_prefix(std::min<size_t>(text.size(), static_cast<size_t>(end - text.data()) + 1));
  }
}

bool RestartHistory::note(int64_t now_s) {
  std::erase_if(times_, [&](int64_t time) { return time <= now_s - restarts_window_s || time > now_s; });
  if (static_cast<int>(times_.size()) >= restarts_max) return false;
  times_.push_back(now_s);
  return true;
}

std::string RestartHistory::text() const {
  std::string out;
  for (const int64_t time : times_) out += (out.empty() ? "" : ",") + std::to_string(time);
  return out;
}

bool is_restarted() {
  if (!std::getenv(variable)) return false;
  ::prctl(PR_SET_NAME, program_invocation_short_name);  // the kernel has named it after the link
  return true;
}

std::string restart_in_place(char** argv) {
  const char* before = std::getenv(variable);
  RestartHistory history(before ? before : "");
  if (!history.note(now_s())) {
    return "the process has started anew " + std::to_string(restarts_max) + " times within " + std::to_string(restarts_window_s) +
           " s";
  }
  if (end_was_asked_for()) return {};
  ::setenv(variable, history.text().c_str(), 1);
  std::cout.flush();
  close_all_on_exec();
  ::execv(own_binary, argv);
  return std::string("executing ") + own_binary + " failed: " + std::strerror(errno);
}

}  // namespace server
