// The pump proposes, on the primary, every transaction that is committed here to
// the set's log, in the order of the timestamps.
//
// It reads behind the writers, up to the oldest timestamp whose transaction is
// open, so that nothing is proposed that might be taken back, and nothing later
// goes before something earlier. Contents go as deltas where that is worth it.
#pragma once

#include <chrono>
#include <functional>
#include <thread>

#include "base/mutex.h"
#include "replication/consensus/types.h"
#include "replication/forward_log.h"
#include "replication/log_reader.h"

namespace storage {
class Store;
}

namespace replication {

// This class is thread-safe.
class LogPump {
 public:
  using Propose = std::function<std::optional<consensus::Position>(base::BytesView data, base::BytesView context)>;
  // Is called, in order, with each record that has its place.
  using Placed = std::function<void(consensus::Position place, const LogRecord& record)>;

  LogPump(storage::Store& store, Oplog& oplog, ForwardLog& forward, Propose propose, Placed placed);
  ~LogPump();

  // From here on the pump proposes what has a timestamp above `after`, in this term.
  void lead(consensus::Term term, storage::Stamp after);
  // Returns when nothing is being proposed any more.
  void stop_leading();
  // Waits until everything that was committed before the call has its place. False: not within the time, or no longer leading.
  bool drain(std::chrono::microseconds within);

  consensus::Index proposed_index() const;  // the newest place ever given in this process's life; 0: none
  storage::Stamp proposed_stamp() const;    // everything up to here has its place
  // Is there anything above proposed_stamp? It is asked once the pump leads no more.
  bool left_over();
  void wake();

 private:
  void run();
  bool pump_some() REQUIRES(mutex_);  // false: nothing more for now; releases the mutex meanwhile
  // nullopt: this member leads no more, or stops.
  std::optional<consensus::Position> propose(const LogRecord& record, consensus::Term term) EXCLUDES(mutex_);

  storage::Store& store_;
  LogReader reader_;
  ForwardLog& forward_;
  const Propose propose_;
  const Placed placed_;
  mutable base::Mutex mutex_;
  base::Condition woken_;
  base::Condition moved_;
  bool stopping_ GUARDED_BY(mutex_) = false;
  bool pumping_ GUARDED_BY(mutex_) = false;  // outside the lock, with a record in hand
  std::atomic<bool> work_{false};
  consensus::Term term_ GUARDED_BY(mutex_) = 0;  // 0: not leading
  consensus::Index proposed_index_ GUARDED_BY(mutex_) = 0;
  storage::Stamp proposed_stamp_ GUARDED_BY(mutex_) = 0;
  std::thread thread_;
};

}  // namespace replication
