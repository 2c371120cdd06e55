// The options of dedup as they are set while the server runs, and as they are in force: a change takes effect at the background's
// next round, in every database.
#pragma once

#include <atomic>
#include <string>

#include "base/mutex.h"
#include "dedup/options.h"
#include "storage/background/dedup_settings.h"
#include "storage/collections/collection.h"

namespace storage {

struct Contents;

// This class is thread-safe, except where a function says otherwise.
class LiveOptions {
 public:
  LiveOptions(Contents& contents, const DedupSettings& settings);

  bool enabled() const { return enabled_.load(std::memory_order_relaxed); }
  void set_enabled(bool enabled) { enabled_ = enabled; }
  bool wanted(const Collection& collection) const { return enabled() && collection.options().dedup.enabled; }

  // These are the options of the server's profile, or those that were set since. `set` throws BadValue for options that don't
  // `validate`.
  dedup::Options get() const;
  void set(const dedup::Options& options);

  std::string profile_of(const Collection& collection) const;
  // This function returns the options of a profile, where `server` holds those of the server's profile.
  dedup::Options of(const std::string& profile, const dedup::Options& server) const;

  // Only the scheduler's thread calls these functions. `take` puts the latest options into force, and returns true when they are
  // new. `changes` counts how often they were.
  bool take();
  const dedup::Options& in_force() const { return in_force_; }
  uint64_t changes() const { return changes_; }

 private:
  Contents& contents_;
  const std::string server_profile_;
  std::atomic<bool> enabled_;
  mutable base::Mutex mutex_;
  dedup::Options options_ GUARDED_BY(mutex_);
  bool changed_ GUARDED_BY(mutex_) = false;  // The options changed since they were last taken.
  dedup::Options in_force_;
  uint64_t changes_ = 0;
};

}  // namespace storage
