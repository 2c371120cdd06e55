#include "storage/engine/engine.h"

#include <algorithm>
#include <filesystem>
#include <future>

#include "base/error.h"
#include "base/log.h"
#include "storage/engine/copied_table.h"
#include "storage/engine/directory.h"
#include "storage/engine/encryption.h"
#include "storage/engine/essential_writes.h"
#include "storage/engine/internals.h"
#include "storage/engine/overlay_files.h"
#include "storage/engine/readable_rows.h"
#include "storage/engine/replayed_writes.h"

namespace storage {
namespace {

constexpr uint64_t large_disk_bytes = 4ull << 30;

// session_max is so high because a thousand connections may all be inside a transaction. The journal's files are small because a
// restart replays, and a backup copies, whole files. Rows that change again and again are written by the next checkpoint: a page
// with one changed row counts as changed as a whole, so changes that are spread over many pages soon fill much of the cache with
// changed pages.
//
// Files that are made for the journal in advance spare a commit the wait. WiredTiger makes the more of them the faster the
// journal grew once, which would be a good part of a small disk.
std::string connection_configuration(const EngineOptions& options, const DiskSpace& space, const Encryption* encryption,
                                     const std::string& extension) {
  std::string extensions = extension;
  if (encryption) extensions.append(extensions.empty() ? "" : ",").append(encryption->extension());
  if (const std::string files = overlay_extension(options.path); !files.empty())
    extensions.append(extensions.empty() ? "" : ",").append(files);
  const bool in_advance = space.filesystem_bytes() >= large_disk_bytes;
  return "create,session_max=4000,statistics=(fast),cache_size=" + std::to_string(options.cache_bytes) +
         ",eviction=(threads_min=1,threads_max=4),eviction_dirty_target=50,eviction_dirty_trigger=75,eviction_updates_target=50,"
         "eviction_updates_trigger=75" +
         ",log=(enabled=true,path=journal,file_max=" + std::to_string(journal_file_bytes(space.reserve_bytes())) +
         ",remove=true,prealloc=" + (in_advance ? "true" : "false") + ",compressor=" + options.journal_compressor + ")" +
         ",transaction_sync=(enabled=true,method=none)"
         ",builtin_extension_config={zstd={compression_level=3}}"
         "," +
         OpenFiles::settings + ",extensions=[" + extensions + "]" + (encryption ? encryption->configuration() : "");
}

constexpr int log_unapplied = 7200513;
constexpr char counts_table[] = "counts";
// The table's one row is 0 -> timestamp (8, BE): the newest checkpoint holds everything with a timestamp up to that one.
constexpr char log_state_table[] = "log_state";
const Bytes log_state_key(1, '\0');
constexpr uint64_t transaction_share_max = 20;  // one transaction may write at least this fraction of the cache

}  // namespace

Engine::Internals::Internals(Engine& the_engine, const EngineOptions& given, const std::string& extension)
    : engine(the_engine),
      options(given),
      encryption(prepare_directory(given.path, given.encryption, given.salvage)),
      space(given.path, given.cache_bytes),
      unapplied(given.path, encryption ? &encryption->files() : nullptr),
      connection(*given.clock, given.path, connection_configuration(given, space, encryption.get(), extension), unapplied,
                 given.salvage),
      stamps(*given.clock),
      sessions(connection),
      stable(given.replicated ? std::make_unique<StableCommits>(connection) : nullptr),
      tables(connection, sessions, unapplied, !given.replicated),
      journal(connection, given.journal_commit_ms),
      files(*given.clock, connection, descriptors_to_watch(), [this](bool few) { sessions.keep_few(few); }),
      checkpointer(
          *given.clock, connection, space, given.checkpoint_seconds, [this](const auto& take) { around_checkpoint(take); },
          [this] { return files.look(); }),
      counts(tables.open(counts_table, {.allocation_bytes = 512})),
      reclaimer(engine, space) {
  space.ask_for_unwritten([this, last = uint64_t{0}]() mutable {
    try {
      last = static_cast<uint64_t>(engine_statistic(connection, WT_STAT_CONN_CACHE_BYTES_DIRTY));
    } catch (const base::OperationError&) {
      // Transactions have taken all of WiredTiger's sessions.
    }
    return last;
  });
}

Engine::Internals::~Internals() = default;

// The timestamp is written down after the checkpoint, when it is true. A crash in between leaves an older timestamp, which is
// true as well.
void Engine::Internals::around_checkpoint(const std::function<void()>& take) {
  if (!stable) return take();
  const base::MutexLock lock(checkpoint_mutex);
  const StableCommits::Point point = stable->advance();
  take();
  tables.checkpointed(point.commit);
  if (point.stamp <= checkpointed_stamp) return;
  Bytes row;
  base::append_be64(row, point.stamp);
  in_transaction(engine, [&](Transaction& transaction) { log_state.put(transaction, log_state_key, row); });
  checkpointed_stamp = point.stamp;
}

void Engine::Internals::require_room(DiskUse use, uint64_t bytes) {
  // A table and the journal have the document; in a replica set two tables, the log and the journal have it.
  const uint64_t disk_bytes = bytes * (options.replicated ? 4 : 2);
  if (space.has_room(use, disk_bytes)) [[likely]]
    return;
  // A replayed document is in the log and in the journal already.
  if (ReplayedWrites::here()) return space.require_for_replay(use, 2 * bytes);
  // A checkpoint makes the journal's files needless, too: they may be all the room that a delete or a drop needs.
  if (use > DiskUse::growth || space.checkpoint_helps()) checkpointer.make_room(use);
  space.require(use, disk_bytes);
}

void Engine::Internals::load_log_state() {
  if (!stable) return;
  log_state = engine.open_table(log_state_table, {.allocation_bytes = 512, .always_journaled = true, .copied = true});
  Transaction transaction(engine, Transaction::Mode::read);
  const auto row = log_state.get(transaction, log_state_key);
  if (!row || row->size() != sizeof(Stamp)) return;
  recovered_stamp = base::load_be64(row->data());
  checkpointed_stamp = recovered_stamp;
  stable->set_majority_committed(recovered_stamp);
}

void Engine::Internals::apply_unapplied() {
  if (!unapplied.any()) return;
  UnappliedRows::Tables left;
  for (const auto& [name, rows] : unapplied.all()) {
    if (!tables.exists(name)) continue;
    const Table table(name);
    const UnappliedRows::Unblocked unblocked(unapplied, name);
    UnappliedRows::Rows waiting;
    for (const auto& [key, value] : rows) {
      if (!can_be_read(engine, table, key)) {
        waiting.emplace(key, value);
        continue;
      }
      in_transaction(engine, [&, &key = key, &value = value](Transaction& transaction) {
        if (value)
          table.put(transaction, key, *value);
        else
          table.remove(transaction, key);
      });
    }
    if (waiting.empty()) continue;
    base::log(
        base::Severity::warning, base::LogComponent::storage, log_unapplied,
        "The journal has changes for damaged pages of a table. They are kept until validate with {repair: true} or --repair "
        "puts them into the table",
        base::Attributes().add("table", name).add("rows", static_cast<int64_t>(waiting.size())));
    left.emplace(name, std::move(waiting));
  }
  engine.wait_durable();
  unapplied.keep(std::move(left));
}

void Engine::Internals::conflict(const Transaction::Session& session) const {
  WT_SESSION* raw = session.session.get();
  const char* reason = raw->get_rollback_reason(raw);
  const bool cache = reason && std::string_view(reason).find("conflict") == std::string_view::npos;
  if (cache && session.written_bytes > options.cache_bytes / transaction_share_max) {
    throw base::OperationError(base::ErrorCode::transaction_too_large_for_cache,
                               "Transaction is too large and will not fit in the storage engine cache");
  }
}

Engine::Engine(const EngineOptions& options, EngineExtension extension)
    : internals_(std::make_unique<Internals>(*this, options, extension.extension)) {
  if (extension.table_gone) internals_->tables.when_gone(std::move(extension.table_gone));
  // Recovery has just made journal files needless, which WiredTiger removes in a thread of its own.
  if (!internals_->space.has_room(DiskUse::release)) internals_->checkpointer.make_room(DiskUse::release);
  internals_->apply_unapplied();
  internals_->load_log_state();
  internals_->reclaimer.start();
}

Engine::~Engine() {
  internals_->reclaimer.stop();
  internals_->tables.stop();
  internals_->checkpointer.stop();
  internals_->journal.stop();
  if (internals_->stable) internals_->stable->advance();
}

const EngineOptions& Engine::options() const {
  return internals_->options;
}

const base::Cipher* Engine::file_cipher() const {
  return internals_->encryption ? &internals_->encryption->files() : nullptr;
}

base::Clock& Engine::clock() const {
  return *internals_->options.clock;
}

Table Engine::open_table(const std::string& name, const TableOptions& options) {
  return options.copied ? open_copied(*this, name, options) : internals_->tables.open(name, options);
}
void Engine::make_empty(const Table& table) {
  internals_->tables.make_empty(table.name());
}
std::vector<std::string> Engine::table_names() const {
  return internals_->tables.names();
}
void Engine::drop_table(const std::string& name) {
  internals_->tables.drop(name, internals_->stable ? internals_->stable->last() : 0);
}
int64_t Engine::file_bytes(const std::string& table) const {
  return internals_->tables.file_bytes(table);
}
int64_t Engine::reusable_bytes(const std::string& table) const {
  return internals_->tables.reusable_bytes(table);
}
void Engine::compact(const std::string& table) {
  internals_->tables.compact(table);
  // WiredTiger gives a file's end back when it checkpoints a table that was changed. A table that has just lost its last rows is
  // not changed any more, and would keep all its space. A change costs the write of a page, which may be all of a small table.
  constexpr int64_t worth_bytes = 1 << 20;
  for (int tries = 0; tries < 2 && reusable_bytes(table) > std::max(worth_bytes, file_bytes(table) / 2); ++tries) {
    try {
      in_transaction(*this, [&](Transaction& transaction) {
        const Table touched(table);
        // Nobody sees this row, and it goes with the transaction. It is not put behind the last row: the engine splits off the
        // last entry of a page that grows, and would go on filling the page before it until an insert had to write that page.
        const Bytes key(1, '\0');
        if (touched.insert(transaction, key, BytesView())) touched.remove(transaction, key);
      });
    } catch (const base::OperationError& error) {
      if (error.code() == base::ErrorCode::out_of_disk_space) return;  // the rows that were moved stay moved
      throw;
    }
    checkpoint();
  }
}
void Engine::checkpoint() {
  internals_->checkpointer.checkpoint();
}

// A file's end is cut off by the checkpoint after the one that left it free, if the table takes part in that checkpoint. A forced
// checkpoint writes the root of each table, and nothing else of tables that have not changed.
void Engine::trim_files() {
  const wt::Session session = internals_->connection.open_session();
  const EssentialWrites essential;
  wt::check(session->checkpoint(session.get(), "force=true"), "taking a checkpoint of all tables");
}

void Engine::when_durable(std::function<void()> done) {
  internals_->journal.when_durable(std::move(done));
}

void Engine::wait_durable() {
  // The promise is shared because the journal's thread may still be inside set_value when this thread goes on.
  const auto durable = std::make_shared<std::promise<void>>();
  when_durable([durable] { durable->set_value(); });
  durable->get_future().wait();
}

Stamp Engine::all_committed() const {
  return internals_->stamps.all_committed();
}
uint64_t Engine::stamped_transactions() const {
  return internals_->stamps.transactions();
}
Stamp Engine::last_stamp() const {
  return internals_->stamps.last();
}
void Engine::raise_stamp(Stamp at_least) {
  internals_->stamps.raise(at_least);
}

void Engine::set_majority_committed(Stamp upto) {
  internals_->stable->set_majority_committed(upto);
  // The stable point moves at once: nobody needs what was overwritten before it, which would otherwise go to the history file.
  internals_->stable->advance();
}
std::shared_ptr<const Snapshot> Engine::keep_snapshot() {
  Internals& internals = *internals_;
  const StableCommits::Point point = internals.stable->keep();
  return {new Snapshot{point.commit, point.stamp}, [&internals](const Snapshot* snapshot) {
            internals.stable->let_go(snapshot->commit);
            delete snapshot;
          }};
}

Stamp Engine::recovered_stamp() const {
  return internals_->recovered_stamp;
}
Stamp Engine::checkpointed_stamp() const {
  return internals_->checkpointed_stamp;
}
base::SharedHold Engine::hold_draft(const base::Interrupted& interrupted) {
  return internals_->drafts.hold(interrupted);
}

void Engine::on_transaction_over(std::function<void()> called) {
  internals_->transaction_over = std::move(called);
}

std::vector<DamagedPage> Engine::damaged_pages() const {
  return internals_->connection.damaged_pages().all();
}
void Engine::name_tables(std::function<std::string(std::string_view table)> owner) {
  internals_->sessions.table_owner = std::move(owner);
}

void Engine::append_stats(bson::Builder& out) const {
  append_engine_statistics(internals_->connection, out);
}

}  // namespace storage
