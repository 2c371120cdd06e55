#include "versions/past/snapshots.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <thread>

#include "base/error.h"
#include "storage/store.h"
#include "versions/past/snapshot_rows.h"

namespace versions::past {

using base::ErrorCode;
using base::OperationError;
using storage::Transaction;

namespace {

constexpr char table_name[] = "past-snapshots";
[[noreturn]] void too_old(const std::string& what) {
  throw OperationError(ErrorCode::snapshot_too_old, "no snapshot was declared at or before " + what);
}

// Reads the 42 of "s42".
std::optional<uint64_t> number_of(std::string_view ref) {
  uint64_t number = 0;
  if (ref.size() < 2 || ref[0] != 's' || ref[1] == '0') return std::nullopt;
  const auto [end, error] = std::from_chars(ref.data() + 1, ref.data() + ref.size(), number);
  return error == std::errc() && end == ref.data() + ref.size() ? std::optional(number) : std::nullopt;
}

bool looks_like_time(std::string_view ref) {
  static constexpr std::string_view form = "00000000T000000Z";
  if (ref.size() != form.size()) return false;
  for (size_t i = 0; i < form.size(); ++i) {
    if (form[i] == '0' ? (ref[i] < '0' || ref[i] > '9') : ref[i] != form[i]) return false;
  }
  return true;
}

// The end of the second "20261120T101500Z", in milliseconds since 1970.
std::optional<int64_t> time_of(std::string_view ref) {
  if (!looks_like_time(ref)) return std::nullopt;
  const auto part = [&](size_t at, size_t length) {
    int value = 0;
    std::from_chars(ref.data() + at, ref.data() + at + length, value);
    return value;
  };
  using namespace std::chrono;
  const year_month_day date{year(part(0, 4)), month(static_cast<unsigned>(part(4, 2))), day(static_cast<unsigned>(part(6, 2)))};
  if (!date.ok() || part(9, 2) > 23 || part(11, 2) > 59 || part(13, 2) > 60) {
    throw OperationError(ErrorCode::bad_value, "no such time: " + std::string(ref));
  }
  const auto at = sys_days(date) + hours(part(9, 2)) + minutes(part(11, 2)) + seconds(part(13, 2));
  return duration_cast<milliseconds>(at.time_since_epoch()).count() + 999;
}

}  // namespace

bool says_when(std::string_view ref) {
  return number_of(ref) || looks_like_time(ref);
}

Snapshots::Snapshots(storage::Store& store) : store_(store) {
  const auto tables = store.engine().table_names();
  if (std::find(tables.begin(), tables.end(), table_name) == tables.end()) return;
  make();
  reload();
}

void Snapshots::make() {
  if (!table_.exists()) table_ = store_.engine().open_table(table_name, {.allocation_bytes = 512, .copied = true});
}

void Snapshots::reload() {
  const base::MutexLock declaring(declaring_);
  std::vector<DeclaredSnapshot> all, dropped;
  uint64_t next = 1;
  Stamp newest = 0;
  if (table_.exists()) {
    Transaction transaction(store_, Transaction::Mode::read);
    storage::TableCursor cursor = table_.cursor(transaction);
    while (cursor.next()) {
      if (cursor.key() == next_snapshot_key) {
        const NextSnapshotRow row = read_next_snapshot(cursor.value());
        next = row.next;
        newest = row.newest;
        continue;
      }
      SnapshotRow row = read_snapshot_row(cursor.key(), cursor.value());
      (row.dropped ? dropped : all).push_back(std::move(row.snapshot));
    }
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.stamp < b.stamp; });
  storage::DeclaredSnapshots& declared = store_.declared_snapshots();
  const base::MutexLock lock(mutex_);
  declared.clear();
  for (const DeclaredSnapshot& one : all) declared.add(one.stamp);
  for (const DeclaredSnapshot& one : dropped) declared.add_dropped(one.stamp);
  if (newest != 0) declared.add_dropped(newest);
  store_.engine().raise_stamp(newest);  // later writes get higher timestamps
  named_.clear();
  for (const DeclaredSnapshot& one : all) {
    if (!one.name.empty()) named_[one.name] = one.number;
  }
  all_ = std::move(all);
  earliest_.assign(all_.size(), INT64_MIN);
  settle_times(all_.size());
  dropped_ = std::move(dropped);
  next_number_ = next;
}

void Snapshots::put(Transaction& transaction, const DeclaredSnapshot& snapshot) const {
  table_.put(transaction, snapshot_key(snapshot.number), write_snapshot_row({snapshot, false}).bytes());
  table_.put(transaction, next_snapshot_key, write_next_snapshot({snapshot.number + 1, snapshot.stamp}).bytes());
}

void Snapshots::remember(const DeclaredSnapshot& snapshot) {
  const base::MutexLock lock(mutex_);
  const auto later = std::upper_bound(all_.begin(), all_.end(), snapshot.stamp,
                                      [](Stamp stamp, const DeclaredSnapshot& one) { return stamp < one.stamp; });
  const auto place = later - all_.begin();
  all_.insert(later, snapshot);
  earliest_.insert(earliest_.begin() + place, INT64_MIN);
  settle_times(static_cast<size_t>(place) + 1);
  if (!snapshot.name.empty()) named_[snapshot.name] = snapshot.number;
  next_number_ = std::max(next_number_, snapshot.number + 1);
}

namespace {

// Numbers go up with timestamps.
template <class List>
auto place_of(List& all, uint64_t number) {
  const auto at = std::lower_bound(all.begin(), all.end(), number,
                                   [](const DeclaredSnapshot& one, uint64_t wanted) { return one.number < wanted; });
  return at != all.end() && at->number == number ? at : all.end();
}

}  // namespace

void Snapshots::forget(uint64_t number) {
  const base::MutexLock lock(mutex_);
  const auto one = place_of(all_, number);
  if (one == all_.end()) return;
  store_.declared_snapshots().remove(one->stamp);
  if (const auto named = named_.find(one->name); named != named_.end() && named->second == number) named_.erase(named);
  dropped_.push_back(std::move(*one));
  const auto place = all_.erase(one) - all_.begin();
  earliest_.erase(earliest_.begin() + place);
  settle_times(static_cast<size_t>(place));
}

// Corrects `earliest_` before a place, behind which it is right, until an entry stays as it is.
void Snapshots::settle_times(size_t before) {
  for (size_t i = before; i-- > 0;) {
    const int64_t least = i + 1 < all_.size() ? std::min(all_[i].time_ms, earliest_[i + 1]) : all_[i].time_ms;
    if (earliest_[i] == least) return;
    earliest_[i] = least;
  }
}

DeclaredSnapshot Snapshots::declare(const std::string& name, const AppendToLog& append_to_log,
                                    const std::function<void()>& interrupted) {
  DeclaredSnapshot snapshot;
  {
    const base::MutexLock declaring(declaring_);
    make();
    storage::DeclaredSnapshots& declared = store_.declared_snapshots();
    snapshot = storage::in_transaction(store_, [&](Transaction& transaction) {
      DeclaredSnapshot one;
      {
        const base::MutexLock lock(mutex_);
        if (named_.contains(name)) throw OperationError(ErrorCode::namespace_exists, "snapshot '" + name + "' already exists");
        one = {next_number_, 0, store_.engine().clock().wall_ms(), name};
      }
      transaction.expect_stamps(2);  // and the log's
      one.stamp = declared.declare([&] { return transaction.next_stamp(); });
      transaction.after_rollback([&declared, stamp = one.stamp] { declared.remove(stamp); });
      put(transaction, one);
      append_to_log(transaction, one);
      return one;
    });
    remember(snapshot);
  }
  while (store_.engine().all_committed() <= snapshot.stamp) {
    if (interrupted) interrupted();
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  return snapshot;
}

void Snapshots::replay_declare(Transaction& transaction, const DeclaredSnapshot& snapshot) {
  storage::DeclaredSnapshots& declared = store_.declared_snapshots();
  declared.add(snapshot.stamp);
  transaction.after_rollback([&declared, stamp = snapshot.stamp] { declared.remove(stamp); });
  put(transaction, snapshot);
  transaction.after_commit([this, snapshot] { remember(snapshot); });
}

std::optional<DeclaredSnapshot> Snapshots::drop(uint64_t number, const AppendToLog& append_to_log) {
  const base::MutexLock declaring(declaring_);
  const auto snapshot = find(number);
  if (!snapshot) return std::nullopt;
  storage::in_transaction(store_, [&](Transaction& transaction) {
    replay_drop(transaction, number);
    append_to_log(transaction, *snapshot);
  });
  return snapshot;
}

void Snapshots::replay_drop(Transaction& transaction, uint64_t number) {
  const auto snapshot = find(number);
  if (!snapshot) throw OperationError(ErrorCode::namespace_not_found, "there is no snapshot " + std::to_string(number));
  const SnapshotRow row{{number, snapshot->stamp, snapshot->time_ms, {}}, true};
  table_.put(transaction, snapshot_key(number), write_snapshot_row(row).bytes());
  transaction.after_commit([this, number] { forget(number); });
}

std::vector<DeclaredSnapshot> Snapshots::dropped() const {
  const base::MutexLock lock(mutex_);
  return dropped_;
}

void Snapshots::swept(Transaction& transaction, uint64_t number) {
  table_.remove(transaction, snapshot_key(number));
  transaction.after_commit([this, number] {
    const base::MutexLock lock(mutex_);
    std::erase_if(dropped_, [&](const DeclaredSnapshot& one) { return one.number == number; });
  });
}

std::vector<DeclaredSnapshot> Snapshots::all() const {
  const base::MutexLock lock(mutex_);
  return all_;
}

std::optional<DeclaredSnapshot> Snapshots::find(uint64_t number) const {
  const base::MutexLock lock(mutex_);
  const auto one = place_of(all_, number);
  return one == all_.end() ? std::nullopt : std::optional(*one);
}

std::optional<DeclaredSnapshot> Snapshots::at(Stamp stamp) const {
  const base::MutexLock lock(mutex_);
  const auto one = std::lower_bound(all_.begin(), all_.end(), stamp,
                                    [](const DeclaredSnapshot& other, Stamp wanted) { return other.stamp < wanted; });
  return one == all_.end() || one->stamp != stamp ? std::nullopt : std::optional(*one);
}

std::optional<DeclaredSnapshot> Snapshots::find(std::string_view ref) const {
  if (const auto number = number_of(ref)) return find(*number);
  const auto time = time_of(ref);
  const base::MutexLock lock(mutex_);
  if (!time) {
    const auto named = named_.find(ref);
    return named == named_.end() ? std::nullopt : std::optional(*place_of(all_, named->second));
  }
  const auto later = std::upper_bound(earliest_.begin(), earliest_.end(), *time);
  if (later == earliest_.begin()) too_old(std::string(ref));
  return all_[static_cast<size_t>(later - earliest_.begin()) - 1];
}

}  // namespace versions::past
