#include "console/browser.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

extern char** environ;  // NOLINT: POSIX wants it declared here

namespace console {
namespace {

// Returns false where something else is at the path.
bool write_private(const std::string& path, const std::string& content) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return false;
  const bool whole = write(file, content.data(), content.size()) == static_cast<ssize_t>(content.size());
  return close(file) == 0 && whole;
}

void open_in_browser(const std::string& path) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_RDWR, 0);
  std::string program = "xdg-open", argument = path;
  char* const arguments[] = {program.data(), argument.data(), nullptr};
  // The console blocks the signals that end it; a browser is to be ended as any program.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t child = 0;
  if (posix_spawnp(&child, program.c_str(), &actions, &attributes, arguments, environ) == 0)
    std::thread([child] { waitpid(child, nullptr, 0); }).detach();
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
}

}  // namespace

Browser::Browser(const std::string& address) {
  if (!std::getenv("DISPLAY") && !std::getenv("WAYLAND_DISPLAY")) return;
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  std::string pattern = std::string(runtime ? runtime : "/tmp") + "/palimpsest-console-XXXXXX";
  if (!mkdtemp(pattern.data())) return;
  folder_ = pattern;
  file_ = folder_ + "/open.html";
  if (write_private(file_, "<!doctype html><meta http-equiv=\"refresh\" content=\"0;url=" + address + "\">\n"))
    open_in_browser(file_);
}

Browser::~Browser() {
  if (folder_.empty()) return;
  unlink(file_.c_str());
  rmdir(folder_.c_str());
}

}  // namespace console
