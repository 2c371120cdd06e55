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

#include "storage/engine/session.h"
#include "storage/engine/table.h"

namespace storage {

// Thread-safe.
class Tables {
 public:
  // `journaled`: every table's changes go through the journal; else only those that always do. Tables that were kept the other
  // way until now are altered.
  Tables(wt::Connection& connection, SessionPool& sessions, bool journaled);
  ~Tables();

  Table open(const std::string& name, const TableOptions& options);
  std::vector<std::string> names() const;  // sorted; without those being dropped
  bool exists(const std::string& name) const;
  // Its files go when nobody has a cursor on it, and not before a checkpoint holds the commit `gone_in` (0: at once): until then
  // a restart may find the table in use.
  void drop(const std::string& name, uint64_t gone_in = 0);
  // A checkpoint is taken that holds all commits up to this one.
  void checkpointed(uint64_t commit);
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
  struct Leaving {
    uint64_t gone_in;
    std::string name;
  };
  void load();
  void run();
  bool try_drop(WT_SESSION* session, const std::string& name);
  int64_t statistic(const std::string& name, int key, const char* depth) const;

  wt::Connection& connection_;
  SessionPool& sessions_;
  const bool journaled_;
  wt::Session session_;  // for making tables, under mutex_
  mutable std::mutex mutex_;
  std::condition_variable woken_;
  std::set<std::string> names_;
  std::deque<std::string> dropping_;
  std::deque<Leaving> leaving_;  // wait for their checkpoint
  std::function<void(const std::string&)> gone_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace storage
