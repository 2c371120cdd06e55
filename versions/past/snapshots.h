// The declared snapshots: names for moments whose past stays readable.
//
//   past-snapshots   number (8, BE) -> {stamp, time, name}, {stamp, time, dropped: true}
//                    00             -> {next: number, newest: stamp}       of all there have been
//
// A number is never given twice. One that was dropped stays in the table until what it alone showed is gone. Thread-safe;
// transactions are not.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "storage/contents/declared_snapshots.h"
#include "storage/engine/table.h"
#include "versions/past/mapping.h"

namespace storage {
class Store;
}

namespace versions::past {

struct DeclaredSnapshot {
  uint64_t number = 0;  // "s42"
  Stamp stamp = 0;      // shows every write stamped before it
  int64_t time_ms = 0;  // since 1970
  std::string name;     // empty: it has none

  std::string text() const { return name.empty() ? "s" + std::to_string(number) : name; }
};

class Snapshots {
 public:
  explicit Snapshots(storage::Store& store);  // reads what there is
  // Before the first is declared. Not inside a transaction.
  void make();

  // Called within the transaction that declares or drops it: writes to the log.
  using Told = std::function<void(storage::Transaction&, const DeclaredSnapshot&)>;
  // Readable when it returns; waits for writes that were stamped before. Throws NamespaceExists for a name that is taken.
  // `interrupted` is asked while it waits.
  DeclaredSnapshot declare(const std::string& name, const Told& told, const std::function<void()>& interrupted = nullptr);
  // The same again, as the log has it: after all that was written before, and before all that was after. Not inside a transaction
  // where there has been none yet (make).
  void declare_again(storage::Transaction& transaction, const DeclaredSnapshot& snapshot);
  // Nobody finds it any more, and nothing is kept for it. nullopt: there is none of that number.
  std::optional<DeclaredSnapshot> drop(uint64_t number, const Told& told);
  // Throws NamespaceNotFound.
  void drop_again(storage::Transaction& transaction, uint64_t number);
  // Those that nobody has swept up after yet.
  std::vector<DeclaredSnapshot> dropped() const;
  void swept(storage::Transaction& transaction, uint64_t number);
  // After the tables were changed under it.
  void reload();

  // In the order of their declaration.
  std::vector<DeclaredSnapshot> all() const;
  std::optional<DeclaredSnapshot> find(uint64_t number) const;
  // The one with just this stamp.
  std::optional<DeclaredSnapshot> at(Stamp stamp) const;
  // By what stands behind the `@` of a database's name: a name, `s42`, or the newest at or before `20261120T101500Z`. nullopt: it
  // names none. Throws SnapshotTooOld for a time before the first.
  std::optional<DeclaredSnapshot> find(std::string_view ref) const;

 private:
  void put(storage::Transaction& transaction, const DeclaredSnapshot& snapshot) const;
  void remember(const DeclaredSnapshot& snapshot);
  void forget(uint64_t number);
  void settle_times(size_t before);

  storage::Store& store_;
  storage::Table table_;  // once there has been one
  std::mutex declaring_;
  mutable std::mutex mutex_;
  std::vector<DeclaredSnapshot> all_;  // by stamp, and so by number
  std::vector<int64_t> earliest_;      // the least time_ms from each of them on: goes up, also where the clock went back
  std::map<std::string, uint64_t, std::less<>> named_;  // their numbers
  std::vector<DeclaredSnapshot> dropped_;
  uint64_t next_number_ = 1;
};

// Whether it names a snapshot by number or time.
bool says_when(std::string_view ref);

}  // namespace versions::past
