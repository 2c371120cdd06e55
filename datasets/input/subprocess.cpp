#include "datasets/input/subprocess.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

extern char** environ;

namespace datasets {
namespace {

void close_fd(int& fd) {
  if (fd >= 0) ::close(fd);
  fd = -1;
}

[[noreturn]] void fail(const std::string& what, int error) {
  throw StreamError(what + ": " + std::strerror(error));
}

}  // namespace

Subprocess::Subprocess(const std::vector<std::string>& command, Input input) {
  std::array<int, 2> in{-1, -1};
  std::array<int, 2> out{-1, -1};
  if (::pipe2(out.data(), O_CLOEXEC) != 0 || (input == Input::pipe && ::pipe2(in.data(), O_CLOEXEC) != 0))
    fail("cannot make a pipe", errno);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (input == Input::pipe)
    posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
  else
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);

  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const int error = ::posix_spawnp(&pid_, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close_fd(in[0]);
  close_fd(out[1]);
  in_ = in[1];
  out_ = out[0];
  if (error != 0) {
    pid_ = -1;
    close_fd(in_);
    close_fd(out_);
    fail("cannot run " + command[0], error);
  }
}

Subprocess::~Subprocess() {
  wait();
}

size_t Subprocess::read(char* to, size_t bytes_max) {
  for (;;) {
    const ssize_t got = ::read(out_, to, bytes_max);
    if (got >= 0) return static_cast<size_t>(got);
    if (errno != EINTR) fail("cannot read from a program", errno);
  }
}

void Subprocess::write(base::BytesView bytes) {
  while (!bytes.empty()) {
    const ssize_t done = ::write(in_, bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) fail("cannot write to a program", errno);
    bytes.remove_prefix(static_cast<size_t>(done));
  }
}

void Subprocess::end_input() {
  close_fd(in_);
}

int Subprocess::wait() {
  close_fd(in_);
  close_fd(out_);
  int status = 0;
  const pid_t pid = std::exchange(pid_, -1);
  if (pid < 0) return 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace datasets
