// Which tables there are, and how they come and go.
//
// Making one is at once; taking one away has to wait until no cursor is on it,
// so a thread of its own tries again until WiredTiger lets go of the files.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "storage/session.h"
#include "storage/table.h"

namespace storage {

// Thread-safe.
class Tables {
 public:
  Tables(wt::Connection& connection, SessionPool& sessions);
  ~Tables();

  Table open(const std::string& name, const TableOptions& options);
  std::vector<std::string> names() const;  // sorted; without those being dropped
  bool exists(const std::string& name) const;
  void drop(const std::string& name);
  void drop_now(const std::string& name);  // while nobody else uses the engine
  // Called on the dropping thread whenever a dropped table's files are gone.
  void when_gone(std::function<void(const std::string& name)> told) { gone_ = std::move(told); }
  void stop();

  int64_t file_bytes(const std::string& name) const;
  int64_t reusable_bytes(const std::string& name) const;
  void compact(const std::string& name);
  // Reads the file's whole structure. Empty: sound. `busy`: somebody has it open, nothing was read.
  std::string verify(const std::string& name, bool& busy);

 private:
  void run();
  bool try_drop(WT_SESSION* session, const std::string& name);
  int64_t statistic(const std::string& name, int key, const char* depth) const;

  wt::Connection& connection_;
  SessionPool& sessions_;
  wt::Session session_;  // for making tables, under mutex_
  mutable std::mutex mutex_;
  std::condition_variable woken_;
  std::set<std::string> names_;
  std::deque<std::string> dropping_;
  std::function<void(const std::string&)> gone_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace storage
