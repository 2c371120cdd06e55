// These functions manage the process around the server: signals, limits, lock
// file, background.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include "base/mutex.h"

namespace server {

struct Options;

// Ignores SIGPIPE, prints a stack if the process crashes, and bounds the memory that malloc keeps. Call it before any thread
// starts.
void prepare_process();

// Sends the log where the options say, then raises the limit on open files and warns if it stays low. Returns an empty text on
// success, else the error.
std::string open_logging(const Options& options);

// Blocks the signals that it waits for, in this thread and those started later. Make it before any thread.
class ProcessSignals {
 public:
  ProcessSignals();

  // Waits for SIGTERM, SIGINT, request_end or request_restart, and returns the exit code; calls `rotate` at SIGUSR1.
  int wait_for_end(const std::function<void()>& rotate);
  // Returns whether a part of the server asked for the end.
  bool end_requested() const { return end_requested_; }
  // Returns whether a restart was requested, and nothing else.
  bool restart_wanted() const { return restarts_; }

  // These may be called from any thread.
  void request_end(int exit_code);
  void request_restart(const std::string& why);

 private:
  std::atomic<int> exit_code_{0};
  std::atomic<bool> end_requested_{false};
  std::atomic<bool> restart_requested_{false};
  bool restarts_ = false;
};

// While it lives, the process has so long to end what clients run; then it removes its pid file (empty: it has none) and ends at
// once, with the exit code. What was acknowledged is safe, as after a crash: the next start recovers.
class LastResort {
 public:
  LastResort(std::chrono::milliseconds patience, int exit_code, std::string pid_file);
  ~LastResort();
  LastResort(const LastResort&) = delete;
  LastResort& operator=(const LastResort&) = delete;

 private:
  base::Mutex mutex_;
  base::Condition changed_;
  bool over_ GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

// The lock holds `mongod.lock` in the data directory for as long as it lives, with the process id inside. Throws OperationError
// if the directory doesn't exist or another server holds it.
class DataDirectoryLock {
 public:
  explicit DataDirectoryLock(const std::string& dbpath);
  ~DataDirectoryLock();
  DataDirectoryLock(const DataDirectoryLock&) = delete;
  DataDirectoryLock& operator=(const DataDirectoryLock&) = delete;

 private:
  int file_ = -1;
};

// The file that --pidfilepath asks for, which is removed at the end. With an empty path there is none.
class PidFile {
 public:
  explicit PidFile(std::string path);
  ~PidFile();
  PidFile(const PidFile&) = delete;
  PidFile& operator=(const PidFile&) = delete;

 private:
  std::string path_;
};

// --fork: returns in the child. The parent waits until the child serves (exit code 0) or ends (its exit code).
void fork_into_background();
// Lets the waiting parent go; does nothing without --fork.
void notify_parent_started();

// --shutdown: ends the server that holds the data directory and waits for it. Returns this process's exit code.
int shut_down_other(const std::string& dbpath);

}  // namespace server
