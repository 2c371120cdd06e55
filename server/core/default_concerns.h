// The default concerns apply to a client's commands that name no concern of their own. setDefaultRWConcern sets them, for all
// members.
//
//   config.settings   {_id: "ReadWriteConcernDefaults", defaultReadConcern: {level}, defaultWriteConcern: {w, …},
//                      updateOpTime: Timestamp, updateWallClockTime: Date}
//
// The document is written as any other, so the other members get it from the log. Each member reads it when it starts, when it
// becomes primary, and every few seconds.
#pragma once

#include <memory>

#include "base/mutex.h"
#include "server/core/operation.h"

namespace base {
class Clock;
}
namespace storage {
class Store;
}

namespace server {

inline constexpr char settings_ns[] = "config.settings";
inline constexpr char default_concerns_id[] = "ReadWriteConcernDefaults";

struct ConcernDefaults {
  std::string read_level;             // empty: none was set, which is "local"
  std::optional<WriteConcern> write;  // nullopt: nobody set one, and so it is the majority
  bson::Document stored;              // the document in config.settings, without _id; empty if there is none
  int64_t read_ms = 0;                // wall clock: when this member read it
};

// This class is thread-safe.
class DefaultConcerns {
 public:
  DefaultConcerns(storage::Store& store, base::Clock& clock);
  // Never returns nullptr.
  std::shared_ptr<const ConcernDefaults> current() const;
  // Reads config.settings. If the document there isn't valid, logs a warning and keeps the former defaults.
  void refresh();

 private:
  storage::Store& store_;
  base::Clock& clock_;
  base::Mutex refreshing_;  // one thread reads at a time, or a slow one would put an older document in a newer one's place
  mutable base::Mutex mutex_;
  std::shared_ptr<const ConcernDefaults> current_ GUARDED_BY(mutex_);
};

// These throw setDefaultRWConcern's errors for a concern that can't be a default.
std::string default_read_level(bson::DocumentView concern);
WriteConcern default_write_concern(bson::DocumentView concern);

}  // namespace server
