// The parts of an open oplog, shared with the collection that shows it. For this folder alone.
#pragma once

#include <atomic>
#include <deque>
#include <optional>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "replication/log_state.h"
#include "replication/oplog.h"
#include "storage/collections/catalog.h"

namespace storage {
class Store;
}

namespace replication {

struct Oplog::State {
  State(storage::Store& store, uint64_t bytes_max);

  using Step = LogStep;

  // Collections that were dropped, and how far down the log is done with them.
  struct DroppedPass {
    std::vector<storage::DroppedCollection> collections;
    storage::Stamp from = 0;   // no older row names their contents
    storage::Stamp below = 0;  // what rows from here on named, they have taken in
    size_t at = 0;             // then the first so many were let go
    storage::RecordId images_from = 0;
  };
  struct NamedRow {
    storage::Stamp stamp;
    storage::RecordId record;
    storage::Collection* collection;
  };
  struct NamedRows {
    std::vector<NamedRow> rows = {};  // the newest first
    storage::Stamp reached = 0;
  };

  void load() REQUIRES(newest_mutex, mutex);
  void read() REQUIRES(newest_mutex, mutex);
  void save() REQUIRES(mutex);
  void count_new() REQUIRES(mutex);
  int64_t bytes_now() const;                                                   // so much may the log have
  bool cut_oldest() REQUIRES(mutex);                                           // false: nothing to cut, or not now
  bool cut_for_room(storage::Transaction& transaction, storage::Stamp stamp);  // false: there is room, or it can't be cut there
  void was_cut(storage::Stamp stamp);
  void grew(storage::Stamp stamp, int64_t bytes);
  // Writes a row whole that named this content, and returns by how many bytes it grew.
  int64_t put_whole(storage::Transaction& transaction, storage::Stamp stamp, BytesView row, const Entry& named,
                    bson::DocumentView content);
  OplogStats stats();
  void tend();
  void run();
  void stop();

  // oplog_dropped.cpp implements these.
  bool take_in_dropped() EXCLUDES(mutex);  // does a part of the work; false: there is nothing to do
  NamedRows named_rows(const DroppedPass& pass);
  void take_in_some(DroppedPass& pass) EXCLUDES(mutex);
  storage::Stamp take_in(const NamedRows& named) EXCLUDES(mutex);
  bool is_too_large() EXCLUDES(mutex);
  void cut_upto(storage::Stamp stamp) EXCLUDES(mutex);

  storage::Store& store;
  std::function<void()> admin_changed;  // Oplog::watch_admin
  const storage::Table table;
  PreImages pre_images;
  const int64_t bytes_max;
  const int64_t step_bytes;
  Bytes uuid;                                  // set by `load`
  std::atomic<storage::Stamp> cut_to{0};       // all entries up to here were taken away for room
  std::shared_ptr<storage::Collection> shown;  // as long as the Oplog lives

  base::Mutex dropped_mutex;  // taken before `mutex`
  std::optional<DroppedPass> dropped_pass GUARDED_BY(dropped_mutex);

  mutable base::Mutex newest_mutex;
  Oplog::Position newest GUARDED_BY(newest_mutex);  // appended, maybe not committed yet

  base::Mutex mutex;
  base::Condition woken;
  bool stopping GUARDED_BY(mutex) = false;
  storage::Stamp counted_to GUARDED_BY(mutex) = 1;  // everything below is in the steps
  std::deque<Step> steps GUARDED_BY(mutex);         // oldest first; the last one still grows
  std::thread thread;
};

std::shared_ptr<storage::Collection> make_oplog_collection(std::shared_ptr<Oplog::State> state);

}  // namespace replication
