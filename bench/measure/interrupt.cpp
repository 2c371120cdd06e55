#include "bench/measure/interrupt.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <mutex>
#include <thread>

#include "base/error.h"

namespace bench {
namespace {

struct Registry {
  std::mutex mutex;
  std::list<std::function<void()>> actions;
};

// It is never destroyed: a signal may come while the process ends.
Registry& registry() {
  static auto* const registry = new Registry;
  return *registry;
}

int wake_pipe[2] = {-1, -1};

// A handler may do next to nothing; the thread at the other end does the rest.
void wake(int signal) {
  const auto byte = static_cast<char>(signal);
  [[maybe_unused]] const ssize_t written = ::write(wake_pipe[1], &byte, 1);
}

void clean_up() {
  char signal = 0;
  while (::read(wake_pipe[0], &signal, 1) != 1) {
  }
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  for (auto action = all.actions.rbegin(); action != all.actions.rend(); ++action) (*action)();
  _exit(128 + signal);
}

}  // namespace

void clean_up_when_interrupted() {
  base::check(::pipe2(wake_pipe, O_CLOEXEC) == 0, "a pipe for signals");
  std::thread(clean_up).detach();
  struct sigaction action {};
  action.sa_handler = wake;
  for (const int signal : {SIGINT, SIGTERM}) sigaction(signal, &action, nullptr);
}

AtInterrupt::AtInterrupt(std::function<void()> action) {
  const std::lock_guard lock(registry().mutex);
  place_ = registry().actions.insert(registry().actions.end(), std::move(action));
}

AtInterrupt::~AtInterrupt() {
  const std::lock_guard lock(registry().mutex);
  registry().actions.erase(place_);
}

}  // namespace bench
