// The database profiler: which operations are written down in <database>.system.profile, and which in the log as slow.
//
//   level  0  none    1  slow ones    2  all       of a database; with a filter: those that the filter matches, at 1 and 2
//   slow_ms, sample_rate                           of the whole process; the log follows them too
//
// The collection is capped, belongs to this member alone and is made when it is missing. What can't be written is left out: the
// operation itself has its answer. Branches of a database are profiled with it.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <shared_mutex>
#include <string>
#include <string_view>

#include "base/error.h"
#include "bson/document.h"
#include "server/core/operation.h"

namespace server {

struct Options;

// How an operation, or one statement of it, ended.
struct OperationEnd {
  const Command* command = nullptr;  // nullptr: there is none of that name
  std::string_view ns;               // of the statement; empty: the end of the whole operation
  bson::DocumentView shown;          // the entry's `command`
  base::ErrorCode code = base::ErrorCode::ok;
  std::string_view message;  // of the error
  int64_t reply_bytes = -1;  // -1: a statement has no reply of its own
  int64_t us = 0;
};

// Thread-safe.
class Profiler {
 public:
  explicit Profiler(const Options& options);

  std::atomic<int64_t> slow_ms;     // longer than this is slow
  std::atomic<double> sample_rate;  // of slow operations: 0 … 1

  struct Settings {
    int level = 0;
    std::shared_ptr<const bson::Document> filter;  // nullptr: none
  };
  // `db` may be one of its branches, or be a namespace of it.
  Settings settings(std::string_view db) const;
  void set(std::string_view db, Settings settings);
  // The database is gone, and its settings with it.
  void forget(std::string_view db);

  // Makes the collection where it is missing. Throws NamespaceExists (48) where one is there that isn't capped.
  static void make_collection(Services& services, std::string_view db);

  // Before the operation runs: somebody may want to see its plan.
  bool watches(std::string_view db) const { return any_.load(std::memory_order_relaxed) && settings(db).level > 0; }

  // After it: writes the entry where it is wanted. True: the log wants a line. Never throws.
  bool finish(OperationContext& op, const OperationEnd& end);

 private:
  struct Wanted {
    bool log = false, profile = false;
  };
  Wanted judge(OperationContext& op, const OperationEnd& end) const;

  const Settings defaults_;
  std::atomic<bool> any_;  // some database is profiled or has a filter
  mutable std::shared_mutex mutex_;
  std::map<std::string, Settings, std::less<>> settings_;
};

}  // namespace server
