// The database profiler decides which operations are recorded in <database>.system.profile, and which are logged as slow.
//
//   level  0  none    1  slow ones    2  all       of a database; with a filter: those that the filter matches, at 1 and 2
//   slow_ms, sample_rate                           of the whole process; the log follows them too
//
// The collection is capped, belongs to this member alone and is made when it is missing. An entry that can't be written is left
// out, since the operation itself has its answer. Branches of a database are profiled with it.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/mutex.h"
#include "bson/document.h"
#include "server/core/operation.h"

namespace server {

struct Options;

// An OperationEnd is how an operation, or one statement of it, ended.
struct OperationEnd {
  const Command* command = nullptr;  // nullptr: no command has the request's name
  std::string_view ns;               // the statement's; empty: the whole operation ended
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

  std::atomic<int64_t> slow_ms;     // an operation that takes longer is slow
  std::atomic<double> sample_rate;  // the share of slow operations that is recorded: 0 … 1

  struct Settings {
    int level = 0;
    std::shared_ptr<const bson::Document> filter;  // nullptr: none
  };
  // `db` may also be a branch or a namespace of the database.
  Settings settings(std::string_view db) const;
  void set(std::string_view db, Settings settings);
  // Forgets the settings of a database that was dropped.
  void forget(std::string_view db);

  // Makes the collection if it is missing. Throws NamespaceExists (48) if it exists and isn't capped.
  static void make_collection(Services& services, std::string_view db);

  // Called before an operation runs: returns whether the profiler may want its plan.
  bool watches(std::string_view db) const { return any_.load(std::memory_order_relaxed) && settings(db).level > 0; }

  // Called after an operation: writes the entry if the settings ask for it. Returns true if the operation is to be logged. Never
  // throws.
  bool finish(OperationContext& op, const OperationEnd& end);

 private:
  struct Wanted {
    bool log = false, profile = false;
  };
  Wanted judge(OperationContext& op, const OperationEnd& end) const;

  const Settings defaults_;
  std::atomic<bool> any_;  // a database is profiled or has a filter
  mutable base::SharedMutex mutex_;
  std::map<std::string, Settings, std::less<>> settings_ GUARDED_BY(mutex_);
};

}  // namespace server
