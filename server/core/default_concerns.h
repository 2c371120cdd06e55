// What a client's commands ask for that name no concern of their own: setDefaultRWConcern's choice, the same on all members.
//
//   config.settings   {_id: "ReadWriteConcernDefaults", defaultReadConcern: {level}, defaultWriteConcern: {w, …},
//                      updateOpTime: Timestamp, updateWallClockTime: Date}
//
// The document is written as any other, so the others have it from the log. Each member reads it when it starts, when it becomes
// primary, and every few seconds.
#pragma once

#include <memory>
#include <mutex>

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
  std::optional<WriteConcern> write;  // nullopt: none was set, which is the majority
  bson::Document stored;              // what stands in config.settings, without _id; empty: nothing
  int64_t read_ms = 0;                // wall clock: when it came to be known here
};

// Thread-safe.
class DefaultConcerns {
 public:
  DefaultConcerns(storage::Store& store, base::Clock& clock);
  // Never nullptr.
  std::shared_ptr<const ConcernDefaults> current() const;
  // From config.settings. What stands there and is no such document is left alone, with a warning; the former defaults stay.
  void refresh();

 private:
  storage::Store& store_;
  base::Clock& clock_;
  mutable std::mutex mutex_;
  std::shared_ptr<const ConcernDefaults> current_;
};

// Throw what setDefaultRWConcern answers for a concern that can't be a default.
std::string default_read_level(bson::DocumentView concern);
WriteConcern default_write_concern(bson::DocumentView concern);

}  // namespace server
