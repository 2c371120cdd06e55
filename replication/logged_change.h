// A logged change is a row of the log as change streams read it: with its content, and with the cluster time and the session of
// the client's transaction that it belongs to.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/interruptible_mutex.h"
#include "replication/oplog.h"

namespace replication {

// A subject says what a row of the log is about, in a form that is quick to compare.
struct LogSubject {
  uint64_t ns = 0, db = 0;  // hashes
  uint64_t other_db = 0;    // of the database that a collection is renamed to; else 0
  bool command = false;
  bool is_public = false;  // of a database of users, under its own name: no branch, and none of admin, config and local
};
LogSubject subject_of(const Entry& entry);

// The changes that somebody wants: of a collection, a database or all databases. A branch counts as a database (shop@dev).
// Commands of a database concern each of its collections.
class LogScope {
 public:
  static LogScope deployment() { return {Kind::deployment, {}}; }
  static LogScope database(std::string_view db) { return {Kind::database, std::string(db)}; }
  static LogScope collection(std::string_view ns) { return {Kind::collection, std::string(ns)}; }

  bool has(const LogSubject& subject) const;
  const std::string& name() const { return name_; }  // unique among scopes: "", "shop", "shop.orders"
  bool is_deployment() const { return kind_ == Kind::deployment; }
  bool is_collection() const { return kind_ == Kind::collection; }

 private:
  enum class Kind { deployment, database, collection };
  LogScope(Kind kind, std::string name);

  Kind kind_;
  std::string name_;
  uint64_t ns_ = 0, db_ = 0;
  uint64_t home_ = 0;  // of a branch: the database whose commands change it
};

// Counts the bytes of changes in memory together with what readers keep in them. Thread-safe.
class ChangeMemory {
 public:
  explicit ChangeMemory(size_t bytes_max) : bytes_max_(bytes_max) {}

  void take(size_t bytes) { bytes_.fetch_add(bytes, std::memory_order_relaxed); }
  // Returns false, and takes none, if there is no room for so many.
  bool take_if_room(size_t bytes) {
    if (bytes_.fetch_add(bytes, std::memory_order_relaxed) + bytes <= bytes_max_) return true;
    give_back(bytes);
    return false;
  }
  void give_back(size_t bytes) { bytes_.fetch_sub(bytes, std::memory_order_relaxed); }
  size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  const size_t bytes_max_;
  std::atomic<size_t> bytes_{0};
};

// A document that is made once. Thousands of readers ask for it, so they find it without a lock and without a count.
class KeptDocument {
 public:
  KeptDocument() = default;
  ~KeptDocument() { delete document_.load(std::memory_order_relaxed); }
  KeptDocument(const KeptDocument&) = delete;
  KeptDocument& operator=(const KeptDocument&) = delete;

  // Returns nullptr before the first `keep`. The document lives as long as this object.
  const bson::Document* get() const { return document_.load(std::memory_order_acquire); }
  // Takes the document, unless another thread was faster; returns what is kept.
  const bson::Document* keep(std::unique_ptr<const bson::Document>& own) {
    const bson::Document* kept = nullptr;
    return document_.compare_exchange_strong(kept, own.get(), std::memory_order_acq_rel) ? own.release() : kept;
  }

 private:
  std::atomic<const bson::Document*> document_{nullptr};
};

struct LoggedChange {
  ~LoggedChange();

  storage::Stamp row = 0;   // its place in the log
  storage::Stamp time = 0;  // of a client's transaction: of the transaction's end
  int64_t index = 0;        // its place within the client's transaction
  Bytes session;            // of the client's transaction (SessionWrite::session); empty: it belongs to none
  int64_t txn_number = 0;
  LogSubject subject;
  Entry entry;  // whole; views into the two below
  Bytes value, content;

  size_t bytes() const { return sizeof(LoggedChange) + value.size() + content.size(); }  // without what readers keep

  // Readers keep in the change what they made of it, so that only the first has the work. They choose the places. Where there is
  // no room for it, and in a change that only one reader has, it isn't kept: then `made` stays as it is, and nullptr is returned.
  const bson::Document* shown(size_t place) const { return shown_[place].get(); }
  const bson::Document* show(size_t place, bson::Document& made) const;

  std::shared_ptr<ChangeMemory> memory;  // nullptr: only one reader has the change

 private:
  mutable std::array<KeptDocument, 2> shown_;
};
using LoggedChangePtr = std::shared_ptr<const LoggedChange>;

struct LoggedChanges {
  std::vector<LoggedChangePtr> changes;  // in the order of the log
  storage::Stamp read_to = 0;            // all rows up to here were looked at
};

// A reader keeps this about the transaction that it is reading, which may be longer than the part that it reads at a time.
struct LoggedTransaction {
  storage::Stamp first = 0, last = 0;
  Bytes session;
  int64_t number = 0;
  bool whole = false;          // its end is in the log
  storage::Stamp counted = 0;  // this row
  int64_t place = -1;          // has this place
};

// Reads rows with timestamps in (after, upto]; `upto` is majority-committed here, and the end of a transaction. Reads contents
// only of rows that `wanted` accepts, and leaves out no-ops, and rows whose content went with their collection. Stops behind
// `bytes_max`, or when `rows_max` rows were looked at. The changes get `memory`. A reader that goes on later keeps `in`. Throws
// ChangeStreamHistoryLost if the log was cut behind `after`, DataCorruptionDetected, and what `interrupted` throws.
using WantedChange = std::function<bool(const LogSubject&)>;
LoggedChanges read_changes(storage::Store& store, Oplog& oplog, storage::Stamp after, storage::Stamp upto,
                           const WantedChange& wanted, size_t bytes_max, size_t rows_max,
                           const base::Interrupted& interrupted = nullptr, const std::shared_ptr<ChangeMemory>& memory = nullptr,
                           LoggedTransaction* in = nullptr);

// This finds the change at a place in the log, by the timestamp that it shows and its place within its transaction. Returns
// nullptr if there is none.
LoggedChangePtr find_change(storage::Store& store, Oplog& oplog, storage::Stamp time, int64_t index,
                            const base::Interrupted& interrupted = nullptr);

// Returns the row that the first change which shows this time, or a later one, comes behind: a client's transaction shows the
// time of its end.
storage::Stamp row_before(storage::Store& store, Oplog& oplog, storage::Stamp time);

// Returns the log's oldest row; 0: the log is empty.
storage::Stamp oldest_row(storage::Store& store, Oplog& oplog);

[[noreturn]] void history_lost();  // throws ChangeStreamHistoryLost

// Returns whether the log has everything after `time`.
bool log_reaches(storage::Store& store, Oplog& oplog, storage::Stamp time);

}  // namespace replication
