#include "storage/engine.h"

#include <algorithm>
#include <filesystem>
#include <future>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "storage/catalog.h"
#include "storage/dedup_service.h"
#include "storage/directory.h"
#include "storage/internals.h"
#include "storage/store_tables.h"

namespace storage {
namespace {

// session_max: a thousand connections may all be inside a transaction. The journal's files are small
// because a restart replays, and a backup copies, whole ones.
std::string connection_configuration(const EngineOptions& options, uint64_t journal_file_bytes, PageCompressors& compressors) {
  return "create,session_max=4000,statistics=(fast),cache_size=" + std::to_string(options.cache_bytes) +
         ",eviction=(threads_min=1,threads_max=4)" +
         ",log=(enabled=true,path=journal,file_max=" + std::to_string(journal_file_bytes) +
         ",remove=true,prealloc=true,compressor=" + options.journal_compressor + ")" +
         ",transaction_sync=(enabled=true,method=none)"
         ",builtin_extension_config={zstd={compression_level=3}}"
         ",file_manager=(close_idle_time=600,close_handle_minimum=2000,close_scan_interval=30)" + compressors.registering();
}

std::string prepared(const EngineOptions& options) {
  prepare_directory(options.path);
  return options.path;
}

constexpr char counts_table[] = "counts";
constexpr uint64_t transaction_share_max = 20;  // of the cache: what one transaction may write at least

}  // namespace

Engine::Internals::Internals(Engine&, const EngineOptions& given)
    : options(given),
      space(prepared(given)),
      page_compressors(given.path, page_layout(given.dedup.profile).settled_level),
      connection(given.path, connection_configuration(given, space.journal_file_bytes(), page_compressors)),
      stamps(base::system_clock()),
      sessions(connection),
      tables(connection, sessions),
      journal(connection, given.journal_commit_ms),
      checkpointer(connection, space, given.checkpoint_seconds),
      counts(tables.open(counts_table, {.allocation_bytes = 512})) {}

Engine::Internals::~Internals() = default;

void Engine::Internals::conflict(const Transaction::Session& session) const {
  WT_SESSION* raw = session.session.get();
  const char* reason = raw->get_rollback_reason(raw);
  const bool cache = reason && std::string_view(reason).find("conflict") == std::string_view::npos;
  if (cache && session.written_bytes > options.cache_bytes / transaction_share_max) {
    throw base::OperationError(313, "Transaction is too large and will not fit in the storage engine cache");
  }
}

Engine::Engine(const EngineOptions& options) : internals_(std::make_unique<Internals>(*this, options)) {
  internals_->tables.when_gone([this](const std::string& table) { internals_->page_compressors.table_gone(table); });
  internals_->catalog = load_catalog(*this);
  internals_->dedup = std::make_unique<DedupService>(*this);
  internals_->dedup->start();
}

Engine::~Engine() {
  internals_->dedup->stop();
  internals_->dedup.reset();
  internals_->catalog.reset();
  internals_->tables.stop();
  internals_->checkpointer.stop();
  internals_->journal.stop();
}

Catalog& Engine::catalog() { return *internals_->catalog; }
DedupService& Engine::dedup() { return *internals_->dedup; }
const EngineOptions& Engine::options() const { return internals_->options; }

Table Engine::open_table(const std::string& name, const TableOptions& options) { return internals_->tables.open(name, options); }
std::vector<std::string> Engine::table_names() const { return internals_->tables.names(); }
void Engine::drop_table(const std::string& name) { internals_->tables.drop(name); }
int64_t Engine::file_bytes(const std::string& table) const { return internals_->tables.file_bytes(table); }
int64_t Engine::reusable_bytes(const std::string& table) const { return internals_->tables.reusable_bytes(table); }
void Engine::compact(const std::string& table) {
  internals_->tables.compact(table);
  // WiredTiger gives a file's end back when it checkpoints a table that was changed. One that has just lost its
  // last rows is changed no more, and would keep all its space.
  constexpr int64_t worth_bytes = 64 << 10;
  for (int tries = 0; tries < 2 && reusable_bytes(table) > std::max(worth_bytes, file_bytes(table) / 2); ++tries) {
    try {
      in_transaction(*this, [&](Transaction& transaction) {
        const Table touched(table);
        const Bytes key = record_key(record_id_max);  // seen by nobody, gone with the transaction
        if (touched.insert(transaction, key, BytesView())) touched.remove(transaction, key);
      });
    } catch (const base::OperationError& error) {
      if (error.code() == base::ErrorCode::out_of_disk_space) return;  // what was moved is moved
      throw;
    }
    checkpoint();
  }
}
void Engine::checkpoint() { internals_->checkpointer.checkpoint(); }

void Engine::when_durable(std::function<void()> done) { internals_->journal.when_durable(std::move(done)); }

void Engine::wait_durable() {
  // Shared: the flusher may still be inside set_value when this thread goes on.
  const auto durable = std::make_shared<std::promise<void>>();
  when_durable([durable] { durable->set_value(); });
  durable->get_future().wait();
}

Stamp Engine::all_committed() const { return internals_->stamps.all_committed(); }
Stamp Engine::last_stamp() const { return internals_->stamps.last(); }
void Engine::raise_stamp(Stamp at_least) { internals_->stamps.raise(at_least); }

void Engine::append_stats(bson::Builder& out) const { append_engine_statistics(internals_->connection, out); }

}  // namespace storage
