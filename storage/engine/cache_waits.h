// A thread that waits inside WiredTiger for room in the cache looks at its operation meanwhile.
//
// WiredTiger makes the threads that call it free room while its cache is full, and keeps them in the call until there is some. If
// the room is held by an open transaction, or if the disk is slow, that takes as long as it takes. So each call waits for
// half a second at most. Then the thread asks its operation whether to go on, and so it does as long as the cache holds more than
// it should; if the cache holds less, the call does its work though room is short. The call of an interrupted operation waits no
// longer; it does its work as well, because WiredTiger can't give up in the midst of it, and Table throws what the operation
// said. Such a transaction can't be committed any more.
//
// Code that must not be interrupted waits no longer either. Somebody's transaction may hold the room for as long as it is open,
// and what such code has left to do is little.
#pragma once

#include <cstdint>
#include <exception>

#include "base/mutex.h"
#include "storage/engine/interruptible_waits.h"
#include "storage/engine/wt.h"

namespace storage {

// Returns whether a wait of this thread has ended because its operation is interrupted. take_interruption returns what the
// operation threw, and forgets it.
extern constinit thread_local bool wait_was_interrupted;
std::exception_ptr take_interruption();

class CacheWaits;

// SessionWaits tell the waits of a session what its transaction does. The object has to live as long as the session.
struct SessionWaits {
  CacheWaits* waits = nullptr;
  bool reads = false;  // the transaction writes nothing
};

// The waits for the cache of one connection. The class is thread-safe.
class CacheWaits {
 public:
  explicit CacheWaits(wt::Connection& connection);

  // Opens a session whose calls wait as described above.
  wt::Session open_session(SessionWaits& of);
  // These are settings for begin_transaction, compiled and as a text.
  const char* transaction_settings() const { return transaction_settings_; }
  static constexpr char transaction_settings_text[] = "operation_timeout_ms=500";

  // Does what WiredTiger's function does, `wait`, in the way described above. Returns WiredTiger's result.
  template <class Wait>
  int wait_interruptibly(WT_SESSION* session, bool reads, const Wait& wait);

 private:
  bool overfull();

  wt::Connection& connection_;
  const char* transaction_settings_ = nullptr;  // it belongs to the connection
  base::Mutex mutex_;
  bool overfull_ GUARDED_BY(mutex_) = false;
  int64_t looked_us_ GUARDED_BY(mutex_) = 0;
};

}  // namespace storage
