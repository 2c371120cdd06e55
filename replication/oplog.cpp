#include "replication/oplog.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <chrono>

#include "base/log.h"
#include "base/random.h"
#include "bson/builder.h"
#include "bson/validate.h"
#include "replication/oplog_state.h"
#include "storage/collections/catalog.h"
#include "storage/engine/room.h"
#include "storage/store.h"

namespace replication {
namespace {

using storage::Stamp;
using storage::Transaction;

constexpr uint64_t bytes_least = 990ull << 20;
constexpr uint64_t bytes_most = 50ull << 30;
constexpr int64_t steps_wanted = 64;
constexpr int64_t step_bytes_min = 256 << 10;
constexpr int rows_per_transaction = 20000;  // counted in one snapshot
constexpr Stamp state_key = 0;
// While new data is refused, the log has at most this part of the disk: then entries go before documents do.
constexpr uint64_t full_disk_share = 20;

Bytes random_uuid() {
  Bytes uuid;
  base::append_le(uuid, base::entropy64());
  base::append_le(uuid, base::entropy64());
  uuid[6] = static_cast<char>((uuid[6] & 0x0f) | 0x40);
  uuid[8] = static_cast<char>((uuid[8] & 0x3f) | 0x80);
  return uuid;
}

}  // namespace

uint64_t default_oplog_bytes(const std::string& path) {
  struct statvfs figures {};
  if (statvfs(path.c_str(), &figures) != 0) return bytes_least;
  return std::clamp(uint64_t{figures.f_bavail} * figures.f_frsize / 20, bytes_least, bytes_most);
}

Oplog::State::State(storage::Store& the_store, uint64_t max)
    : store(the_store),
      table(store.engine().open_table("oplog",
                                      {.block_compressor = store.options().block_compressor, .leaf_page_bytes = 64 << 10})),
      pre_images(the_store),
      bytes_max(static_cast<int64_t>(max)),
      step_bytes(std::max(step_bytes_min, bytes_max / steps_wanted)) {}

void Oplog::State::load() {
  try {
    read();
  } catch (const base::OperationError& damage) {
    if (damage.code() != base::ErrorCode::data_corruption_detected) throw;
    if (store.options().replicated) {
      throw base::OperationError(damage.code(),
                                 std::string("the oplog of this member is damaged; empty its data directory, and it copies "
                                             "the data of another member: ") +
                                     damage.what());
    }
    base::log(base::Severity::warning, base::LogComponent::storage, 7200512,
              "The oplog is damaged; it begins anew, and change streams can't be resumed from before",
              base::Attributes().add("error", damage.what()));
    store.engine().make_empty(table);
    steps.clear();
    read();
  }
}

void Oplog::State::read() {
  bool fresh = true;
  {
    Transaction transaction(store, Transaction::Mode::read);
    if (const auto row = table.get(transaction, entry_key(state_key))) {
      LogState state = decode_state(*row).or_throw();
      uuid = std::move(state.uuid);
      counted_to = state.counted_to;
      steps = std::move(state.steps);
      fresh = false;
    }
    storage::TableCursor cursor = table.cursor(transaction);
    if (cursor.previous()) {
      const Stamp last = stamp_from_key(cursor.key());
      store.engine().raise_stamp(last);
      const BytesView value = cursor.value();
      if (const auto entry = decode(value); last != state_key && entry.ok())
        newest = {{last, entry.value().term}, entry.value().wall_ms};
    }
  }
  if (steps.empty()) steps.emplace_back();
  if (!fresh) return;
  uuid = random_uuid();
  save();
}

void Oplog::State::save() {
  const bson::Document document = encode_state({uuid, counted_to, steps});
  storage::in_transaction(store,
                          [&](Transaction& transaction) { table.put(transaction, entry_key(state_key), document.bytes()); });
}

void Oplog::State::count_new() {
  for (bool more = true; more;) {
    Transaction transaction(store, Transaction::Mode::read);
    const Stamp end = transaction.visible_below();
    storage::TableCursor cursor = table.cursor(transaction);
    int rows = 0;
    more = false;
    for (bool on = cursor.seek(entry_key(counted_to)); on; on = cursor.next()) {
      const Stamp stamp = stamp_from_key(cursor.key());
      if (stamp >= end) break;
      if (rows++ == rows_per_transaction) {
        more = true;
        break;
      }
      const BytesView value = cursor.value();
      const auto entry = decode(value);
      if (steps.back().stored_bytes >= step_bytes) steps.emplace_back();
      Step& step = steps.back();
      step.end = stamp;
      step.entries += 1;
      step.logical_bytes += entry.ok() ? static_cast<int64_t>(oplog_document_bytes(entry.value())) : 0;
      step.stored_bytes += static_cast<int64_t>(value.size() + cursor.key().size());
      counted_to = stamp + 1;
    }
  }
}

int64_t Oplog::State::bytes_now() const {
  if (!storage::is_full(store)) return bytes_max;
  return std::min(bytes_max, static_cast<int64_t>(storage::disk_figures(store).filesystem_bytes / full_disk_share));
}

bool Oplog::State::cut_oldest() {
  int64_t stored = 0;
  for (const Step& step : steps) stored += step.stored_bytes;
  if (stored <= bytes_now() || steps.size() < 2) return false;
  try {
    Transaction transaction(store, Transaction::Mode::write);
    table.truncate(transaction, entry_key(state_key + 1), entry_key(steps.front().end));
    transaction.commit();
  } catch (const storage::WriteConflict&) {
    return false;  // an entry there is just taking its content in; the next round tries again
  }
  steps.pop_front();
  return true;
}

// A delete would need as much room for the content as the document had. On a full disk the log gives way: it begins after the
// entry. The rows are taken away from the last such cut on, because a cursor would step over all rows that were taken away
// before.
bool Oplog::State::cut_for_room(Transaction& transaction, Stamp stamp) {
  if (!storage::is_full(store) || stamp >= transaction.visible_below()) return false;
  table.truncate(transaction, entry_key(std::max(state_key + 1, cut_to.load())), entry_key(stamp));
  return true;
}

// A step that was cut in part keeps its counts until the rest of it goes.
void Oplog::State::was_cut(Stamp stamp) {
  Stamp before = cut_to.load();
  while (before < stamp && !cut_to.compare_exchange_weak(before, stamp)) {
  }
  const base::MutexLock lock(mutex);
  while (steps.size() > 1 && steps.front().end <= stamp) steps.pop_front();
}

// An entry took its content in.
void Oplog::State::grew(Stamp stamp, int64_t bytes) {
  const base::MutexLock lock(mutex);
  if (stamp >= counted_to) return;  // will be counted as it is now
  for (Step& step : steps) {
    if (stamp > step.end) continue;
    step.stored_bytes += bytes;
    return;
  }
}

int64_t Oplog::State::put_whole(Transaction& transaction, Stamp stamp, BytesView row, const Entry& named,
                                bson::DocumentView content) {
  Bytes value;
  value.reserve(row.size() + content.size());
  encode(made_whole(named, content), value);
  const auto grown = static_cast<int64_t>(value.size()) - static_cast<int64_t>(row.size());
  table.put(transaction, entry_key(stamp), value);
  return grown;
}

OplogStats Oplog::State::stats() {
  OplogStats stats;
  {
    const base::MutexLock lock(mutex);
    count_new();
    for (const Step& step : steps) {
      stats.entries += step.entries;
      stats.logical_bytes += step.logical_bytes;
      stats.stored_bytes += step.stored_bytes;
    }
  }
  stats.bytes_max = bytes_max;
  Transaction transaction(store, Transaction::Mode::read);
  storage::TableCursor cursor = table.cursor(transaction);
  if (cursor.seek(entry_key(state_key + 1))) stats.first = stamp_from_key(cursor.key());
  if (cursor.seek_back(entry_key(transaction.visible_below() - 1)) && stats.first != 0) stats.last = stamp_from_key(cursor.key());
  return stats;
}

void Oplog::State::tend() {
  const base::MutexLock lock(mutex);
  const size_t before = steps.size();
  count_new();
  bool changed = steps.size() != before;
  while (cut_oldest()) changed = true;
  if (changed) save();
}

void Oplog::State::run() {
  base::LogContext context("OplogCapper");
  base::MutexLock lock(mutex);
  bool more = false;
  while (!stopping) {
    woken.wait_for(lock, more ? std::chrono::milliseconds(10) : std::chrono::seconds(1));
    if (stopping) return;
    lock.unlock();
    more = false;
    try {
      tend();
      more = take_in_dropped();
    } catch (const std::exception& error) {
      base::log(base::Severity::warning, base::LogComponent::repl, 22443, "The oplog could not be shortened; trying again",
                base::Attributes().add("error", error.what()));
    }
    lock.lock();
  }
}

void Oplog::State::stop() {
  {
    const base::MutexLock lock(mutex);
    stopping = true;
  }
  woken.notify_one();
  if (thread.joinable()) thread.join();
  const base::MutexLock lock(mutex);
  try {
    count_new();
    save();
  } catch (const std::exception& error) {
    base::log(base::Severity::warning, base::LogComponent::repl, 22444,
              "The oplog's counts were not saved; the next start counts again", base::Attributes().add("error", error.what()));
  }
}

Oplog::Oplog(storage::Store& store, uint64_t bytes_max) : state_(std::make_shared<State>(store, bytes_max)) {
  state_->load();
  state_->shown = make_oplog_collection(state_);
  store.catalog().attach(state_->shown);
  state_->thread = std::thread([state = state_.get()] { state->run(); });
}

Oplog::~Oplog() {
  state_->stop();
  state_->store.catalog().detach(oplog_ns);
  state_->shown.reset();
}

void Oplog::watch_admin(std::function<void()> changed) {
  state_->admin_changed = std::move(changed);
}

void Oplog::append(Transaction& transaction, Stamp stamp, const Entry& entry) {
  Bytes value;
  value.reserve(64 + entry.ns.size() + (entry.form == Entry::Form::whole ? entry.o.size() : 0));
  encode(entry, value);
  state_->table.put(transaction, entry_key(stamp), value);
  if (entry.ns.starts_with("admin.") && state_->admin_changed) transaction.after_commit(state_->admin_changed);
  const base::MutexLock lock(state_->newest_mutex);
  if (stamp > state_->newest.optime.ts) state_->newest = {{stamp, entry.term}, entry.wall_ms};
}

std::optional<bson::Document> Oplog::find(Stamp stamp) {
  Transaction transaction(state_->store, Transaction::Mode::read);
  return state_->shown->find(transaction, static_cast<storage::RecordId>(stamp), nullptr);
}

std::optional<Bytes> Oplog::row(Stamp stamp) {
  if (stamp == state_key) return std::nullopt;
  Transaction transaction(state_->store, Transaction::Mode::read);
  const auto row = state_->table.get(transaction, entry_key(stamp));
  return row ? std::optional<Bytes>(*row) : std::nullopt;
}

storage::TableCursor Oplog::rows(Transaction& transaction) const {
  return state_->table.cursor(transaction);
}

bool Oplog::passed(Stamp stamp) {
  Transaction transaction(state_->store, Transaction::Mode::read);
  storage::TableCursor cursor = rows(transaction);
  if (cursor.seek(entry_key(stamp)) && stamp_from_key(cursor.key()) == stamp) return true;
  return cursor.seek(entry_key(state_key + 1)) && stamp < stamp_from_key(cursor.key());
}

Oplog::Position Oplog::newest() const {
  const Stamp readable = state_->store.engine().all_committed() - 1;
  const base::MutexLock lock(state_->newest_mutex);
  Position position = state_->newest;
  if (position.optime.ts > readable) position.optime.ts = readable;
  return position;
}

void Oplog::keep_content(Transaction& transaction, storage::CollectionId collection, storage::RecordId record,
                         const storage::Superseded& before) {
  const auto row = state_->table.get(transaction, entry_key(before.generation));
  if (!row) return;  // the log doesn't reach back that far
  const auto entry = decode(*row);
  if (!entry.ok() || entry.value().form != Entry::Form::named) return;
  // A session's record has the timestamp of another collection's entry.
  if (entry.value().collection != collection || entry.value().record != record) return;
  if (state_->cut_for_room(transaction, before.generation)) {
    return transaction.after_commit([state = state_, stamp = before.generation] { state->was_cut(stamp); });
  }
  const int64_t grown =
      state_->put_whole(transaction, before.generation, Bytes(*row), entry.value(), bson::DocumentView(before.bytes));
  transaction.after_commit([state = state_, stamp = before.generation, grown] { state->grew(stamp, grown); });
}

std::shared_ptr<storage::Collection> Oplog::collection() const {
  return state_->shown;
}
PreImages& Oplog::pre_images() {
  return state_->pre_images;
}
OplogStats Oplog::stats() {
  return state_->stats();
}
void Oplog::tend() {
  state_->tend();
  while (state_->take_in_dropped()) {
  }
}

}  // namespace replication
