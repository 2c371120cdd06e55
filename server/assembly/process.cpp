#include "server/assembly/process.h"

#include <execinfo.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <thread>

#include "base/allocator.h"
#include "base/error.h"
#include "base/log.h"
#include "server/core/options.h"

namespace server {

using base::Attributes;
using base::ErrorCode;
using base::LogComponent;
using base::OperationError;
using base::Severity;

namespace {

constexpr rlim_t files_wanted = 65536;
constexpr rlim_t files_few = 64000;  // mongod warns below
int started_pipe = -1;               // the parent waits at its other end

std::string lock_path(const std::string& dbpath) {
  return dbpath + "/mongod.lock";
}

// Does only what is safe in a signal handler: writes the frames as addresses and symbols to standard error, then takes the
// default action with its core.
void on_crash(int signal) {
  static const char text[] = "palimpsestd crashed; frames:\n";
  [[maybe_unused]] auto ignored = ::write(STDERR_FILENO, text, sizeof text - 1);
  void* frames[64];
  ::backtrace_symbols_fd(frames, ::backtrace(frames, 64), STDERR_FILENO);
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

void raise_file_limit() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur < files_wanted) {
    limit.rlim_cur = std::min(limit.rlim_max, files_wanted);
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }
  if (limit.rlim_cur < files_few) {
    base::log_startup_warning(22184, "Soft rlimits for open file descriptors too low",
                              Attributes()
                                  .add("currentValue", static_cast<uint64_t>(limit.rlim_cur))
                                  .add("recommendedMinimum", static_cast<uint64_t>(files_few)));
  }
}

// Returns the process id in a lock file; 0: it has none.
pid_t pid_in(const std::string& path) {
  pid_t pid = 0;
  std::ifstream(path) >> pid;
  return pid;
}

sigset_t awaited_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (int signal : {SIGTERM, SIGINT, SIGUSR1, SIGUSR2}) sigaddset(&signals, signal);
  return signals;
}

}  // namespace

void prepare_process() {
  base::give_back_freed_memory();
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGHUP, SIG_IGN);
  // This loads libgcc now: the first backtrace allocates, which a crash handler must not.
  void* frames[1];
  ::backtrace(frames, 1);
  for (int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL}) ::signal(signal, on_crash);
}

std::string open_logging(const Options& options) {
  base::set_log_verbosity(base::LogComponent::default_, options.verbosity);
  base::set_log_quiet(options.quiet);
  for (const auto& [name, level] : options.component_verbosity) {
    bool known = false;
    for (int i = 0; i < base::log_components; ++i) {
      std::string key(base::log_component_name(static_cast<base::LogComponent>(i)));
      for (char& c : key) c = static_cast<char>(std::tolower(c));
      if (key == name) base::set_log_verbosity(static_cast<base::LogComponent>(i), level), known = true;
    }
    if (!known) return "unknown log component " + name;
  }
  std::string problem = base::open_log({options.log_path, options.log_append, options.log_reopen});
  if (problem.empty()) raise_file_limit();
  return problem;
}

ProcessSignals::ProcessSignals() {
  const sigset_t signals = awaited_signals();
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

int ProcessSignals::wait_for_end(const std::function<void()>& rotate) {
  const sigset_t signals = awaited_signals();
  for (;;) {
    int signal = 0;
    if (::sigwait(&signals, &signal) != 0) continue;
    if (signal == SIGUSR1) {
      base::log(Severity::info, LogComponent::control, 23166, "Log rotation requested");
      rotate();
      continue;
    }
    if (signal == SIGUSR2) {
      if (!restart_requested_) continue;  // another sender's signal
      restarts_ = true;
      return 0;
    }
    base::log(Severity::info, LogComponent::control, 23377, "Received signal",
              Attributes().add("signal", signal).add("error", ::strsignal(signal)));
    return exit_code_;
  }
}

void ProcessSignals::request_end(int exit_code) {
  exit_code_ = exit_code;
  end_requested_ = true;
  ::kill(::getpid(), SIGTERM);
}

// The thread has its own copy of the path, since it may run whatever the other threads do.
LastResort::LastResort(std::chrono::milliseconds patience, int exit_code, std::string pid_file)
    : thread_([this, patience, exit_code, path = std::move(pid_file)] {
        base::MutexLock lock(mutex_);
        if (changed_.wait_for(lock, patience, [this]() REQUIRES(mutex_) { return over_; })) return;
        base::log(Severity::warning, LogComponent::control, 7100090,
                  "Operations that don't end in time are left; the next start recovers, as after a crash",
                  Attributes().add("exitCode", exit_code));
        if (!path.empty()) ::unlink(path.c_str());
        ::_exit(exit_code);
      }) {}

LastResort::~LastResort() {
  {
    const base::MutexLock lock(mutex_);
    over_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

// A restart has a signal of its own, so that a signal that asks for the end meanwhile isn't mistaken for it.
void ProcessSignals::request_restart(const std::string& why) {
  base::log(Severity::info, LogComponent::control, 7100030, "Going to start anew in place", Attributes().add("reason", why));
  restart_requested_ = true;
  ::kill(::getpid(), SIGUSR2);
}

DataDirectoryLock::DataDirectoryLock(const std::string& dbpath) {
  if (!std::filesystem::is_directory(dbpath)) {
    throw OperationError(
        100, "NonExistentPath: Data directory " + dbpath +
                 " not found. Create the missing directory or specify another path using (1) the --dbpath command line "
                 "option, or (2) by adding the 'storage.dbPath' option in the configuration file.");
  }
  const std::string path = lock_path(dbpath);
  file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (file_ < 0) {
    throw OperationError(100, "IllegalOperation: Attempted to create a lock file on a read-only directory: " + dbpath + ": " +
                                  std::strerror(errno));
  }
  if (::flock(file_, LOCK_EX | LOCK_NB) != 0) {
    ::close(file_);
    throw OperationError(98, "DBPathInUse: Unable to lock the lock file: " + path +
                                 " (Resource temporarily unavailable). Another palimpsestd instance is already running on the " +
                                 dbpath + " directory");
  }
  if (std::filesystem::file_size(path) != 0) {
    base::log(Severity::warning, LogComponent::storage, 22271, "Detected unclean shutdown - Lock file is not empty",
              Attributes().add("lockFile", path));
  }
  const std::string pid = std::to_string(::getpid()) + "\n";
  if (::ftruncate(file_, 0) != 0 || ::pwrite(file_, pid.data(), pid.size(), 0) != static_cast<ssize_t>(pid.size())) {
    const std::string why = std::strerror(errno);
    ::close(file_);
    throw OperationError(100, "FileStreamFailed: Unable to write process id to " + path + ": " + why);
  }
}

DataDirectoryLock::~DataDirectoryLock() {
  [[maybe_unused]] const int ignored = ::ftruncate(file_, 0);
  ::close(file_);
}

PidFile::PidFile(std::string path) : path_(std::move(path)) {
  if (path_.empty()) return;
  std::ofstream out(path_, std::ios::trunc);
  out << ::getpid() << "\n";
  if (!out.flush()) throw OperationError(100, "FileStreamFailed: Failed to write pid file " + path_);
}

PidFile::~PidFile() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove(path_, ignored);
}

void fork_into_background() {
  int ends[2];
  if (::pipe(ends) != 0) return;
  std::cout << "about to fork child process, waiting until server is ready for connections.\n" << std::flush;
  const pid_t child = ::fork();
  if (child > 0) {
    ::close(ends[1]);
    char byte = 0;
    const bool started = ::read(ends[0], &byte, 1) == 1;
    if (started) {
      std::cout << "forked process: " << child << "\nchild process started successfully, parent exiting\n" << std::flush;
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    std::cerr << "ERROR: child process failed, exited with " << (WIFEXITED(status) ? WEXITSTATUS(status) : 1) << "\n";
    ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
  }
  ::close(ends[0]);
  started_pipe = ends[1];
  ::fcntl(started_pipe, F_SETFD, FD_CLOEXEC);
  ::setsid();
  const int nothing = ::open("/dev/null", O_RDWR);
  for (int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(nothing, stream);
  if (nothing > STDERR_FILENO) ::close(nothing);
}

void notify_parent_started() {
  if (started_pipe < 0) return;
  [[maybe_unused]] auto ignored = ::write(started_pipe, "1", 1);
  ::close(started_pipe);
  started_pipe = -1;
}

int shut_down_other(const std::string& dbpath) {
  const std::string path = lock_path(dbpath);
  const pid_t pid = pid_in(path);
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  const bool held = file >= 0 && ::flock(file, LOCK_EX | LOCK_NB) != 0;
  if (file >= 0) ::close(file);
  if (pid <= 0 || !held) {
    std::cerr << "There doesn't seem to be a server running with dbpath: " << dbpath << "\n";
    return 1;
  }
  std::cout << "killing process with pid: " << pid << "\n" << std::flush;
  if (::kill(pid, SIGTERM) != 0) {
    std::cerr << "failed to kill process: " << std::strerror(errno) << "\n";
    return 1;
  }
  while (::kill(pid, 0) == 0) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  return 0;
}

}  // namespace server
