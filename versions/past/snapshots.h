// Declared snapshots are names for moments whose past stays readable.
//
//   past-snapshots   number (8, BE) -> {stamp, time, name}, {stamp, time, dropped: true}
//                    00             -> {next: number, newest: timestamp}   of all there have been
//
// No number is given twice. A dropped snapshot stays in the table until what it alone showed is gone. Thread-safe; transactions
// are not.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "storage/contents/declared_snapshots.h"
#include "storage/engine/table.h"
#include "versions/past/mapping.h"

namespace storage {
class Store;
}

namespace versions::past {

struct DeclaredSnapshot {
  uint64_t number = 0;  // "s42"
  Stamp stamp = 0;      // it shows every write with a lower timestamp
  int64_t time_ms = 0;  // since 1970
  std::string name;     // empty: it has no name

  std::string text() const { return name.empty() ? "s" + std::to_string(number) : name; }
};

class Snapshots {
 public:
  explicit Snapshots(storage::Store& store);  // reads the table
  // Must be called before the first snapshot is declared, and not inside a transaction.
  void make();

  // Called within the transaction that declares or drops the snapshot: it appends to the log.
  using AppendToLog = std::function<void(storage::Transaction&, const DeclaredSnapshot&)>;
  // The snapshot is readable when this returns: it waits for writes with lower timestamps. Throws NamespaceExists if the name is
  // taken. `interrupted` is called while it waits.
  DeclaredSnapshot declare(const std::string& name, const AppendToLog& append_to_log,
                           const std::function<void()>& interrupted = nullptr);
  // Replays a declaration as the log has it: after all earlier writes, and before all later ones. Must not be called inside a
  // transaction if there has been no snapshot yet (make).
  void replay_declare(storage::Transaction& transaction, const DeclaredSnapshot& snapshot);
  // Nobody finds the snapshot any more, and nothing is kept for it. nullopt: there is none of that number.
  std::optional<DeclaredSnapshot> drop(uint64_t number, const AppendToLog& append_to_log);
  // Replays a drop. Throws NamespaceNotFound.
  void replay_drop(storage::Transaction& transaction, uint64_t number);
  // The dropped snapshots that nobody has swept up after yet.
  std::vector<DeclaredSnapshot> dropped() const;
  void swept(storage::Transaction& transaction, uint64_t number);
  // Must be called after the tables were changed from outside.
  void reload();

  // Returns them in the order of their declaration.
  std::vector<DeclaredSnapshot> all() const;
  std::optional<DeclaredSnapshot> find(uint64_t number) const;
  // Returns the snapshot with exactly this timestamp.
  std::optional<DeclaredSnapshot> at(Stamp stamp) const;
  // Finds a snapshot by what stands behind the `@` of a database's name: a name, `s42`, or a time, which means the newest at or
  // before it (`20261120T101500Z`). nullopt: there is none. Throws SnapshotTooOld for a time before the first.
  std::optional<DeclaredSnapshot> find(std::string_view ref) const;

 private:
  void put(storage::Transaction& transaction, const DeclaredSnapshot& snapshot) const;
  void remember(const DeclaredSnapshot& snapshot);
  void forget(uint64_t number);
  void settle_times(size_t before) REQUIRES(mutex_);

  storage::Store& store_;
  storage::Table table_;   // made with the first snapshot
  base::Mutex declaring_;  // one thread declares or drops at a time
  mutable base::Mutex mutex_;
  std::vector<DeclaredSnapshot> all_ GUARDED_BY(mutex_);  // by timestamp, and so by number
  // Has for each snapshot the least time_ms from it on; the values go up even if the clock went back.
  std::vector<int64_t> earliest_ GUARDED_BY(mutex_);
  std::map<std::string, uint64_t, std::less<>> named_ GUARDED_BY(mutex_);  // name -> number
  std::vector<DeclaredSnapshot> dropped_ GUARDED_BY(mutex_);
  uint64_t next_number_ GUARDED_BY(mutex_) = 1;
};

// Returns whether the ref names a snapshot by number or time.
bool says_when(std::string_view ref);

}  // namespace versions::past
