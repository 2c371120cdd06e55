#include "server/assembly/replay.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <limits>

#include "base/clock.h"
#include "base/log.h"
#include "replication/applier.h"
#include "replication/log_reader.h"
#include "replication/session_store.h"
#include "server/assembly/storage_part.h"
#include "server/core/options.h"
#include "server/query/plan/implies.h"
#include "storage/engine/directory.h"
#include "storage/store.h"
#include "storage/upkeep/moment.h"
#include "versions/database/databases.h"
#include "versions/past/past.h"

namespace server {
namespace {

using base::Attributes;
using base::ErrorCode;
using base::LogComponent;
using base::OperationError;
using base::Severity;
using storage::moment_text;
using storage::Stamp;

constexpr size_t read_bytes = 4 << 20;
constexpr uint64_t copy_cache_bytes = 256 << 20;
constexpr auto report_interval = std::chrono::seconds(1);
// Nothing may be cut from a log while it is read.
constexpr uint64_t unbounded_log = std::numeric_limits<int64_t>::max();

storage::StoreOptions options_of_copy(const Options& options) {
  if (!std::filesystem::exists(std::filesystem::path(options.replay_log_of) / storage::directory_file))
    throw OperationError(ErrorCode::bad_value, options.replay_log_of + " is no data directory");
  storage::StoreOptions store = store_options(options, base::system_clock());
  store.path = options.replay_log_of;
  store.dedup.enabled = false;
  store.cache_bytes = std::min(store.cache_bytes, copy_cache_bytes);
  return store;
}

struct Copy {
  explicit Copy(const Options& options) : store(options_of_copy(options)), oplog(store, unbounded_log), reader(store, oplog) {}

  storage::Store store;
  replication::Oplog oplog;
  replication::LogReader reader;
};

// The parts are those by which a member of a set replays the log; nothing else writes to the directory.
struct Target {
  explicit Target(const Options& options)
      : store(store_options(options, base::system_clock())),
        oplog(store, oplog_bytes(options)),
        committer(store, oplog, base::system_clock()),
        past(store),
        databases(store, past, &committer),
        sessions(store, oplog),
        applier(store, oplog, committer, sessions) {
    committer.set_branch_replayer(&databases);
    store.catalog().set_predicate_compiler(query::plan::compile_partial_filter);
  }

  storage::Store store;
  replication::Oplog oplog;
  replication::LocalCommitter committer;
  versions::past::Past past;
  versions::Databases databases;
  replication::SessionStore sessions;
  replication::Applier applier;
};

// Two servers may have an entry under the same timestamp, and so may one whose newest entries were rolled back.
bool same_entry(const base::Bytes& row, const base::Bytes& other) {
  const replication::Entry a = replication::decode(row).or_throw(), b = replication::decode(other).or_throw();
  return a.op == b.op && a.wall_ms == b.wall_ms && a.term == b.term && a.ns == b.ns && a.uuid == b.uuid;
}

// Returns the timestamp from which on the copy's entries may be missing in the target.
Stamp check_logs(const Options& options, Target& target, Copy& copy) {
  const Stamp newest = target.oplog.newest().optime.ts, until = options.replay_until;
  const replication::OplogStats log = copy.oplog.stats();
  base::log(Severity::info, LogComponent::storage, 7100066, "Replaying the log of a later copy",
            Attributes()
                .add("newest", moment_text(newest))
                .add("logFrom", moment_text(log.first))
                .add("logUpto", moment_text(log.last))
                .add("until", moment_text(until)));
  if (newest > until) {
    throw OperationError(ErrorCode::illegal_operation,
                         "the data directory is as of " + moment_text(newest) + " already, after " + moment_text(until));
  }
  if (newest == 0)
    throw OperationError(ErrorCode::snapshot_too_old, "the data directory has no log, so nobody knows what comes behind it");
  const Stamp log_below = options.replay_log_below == 0 ? log.last + 1 : options.replay_log_below;
  if (until >= log_below) {
    throw OperationError(ErrorCode::snapshot_too_old,
                         "the log ends before " + moment_text(log_below) + ", and doesn't reach " + moment_text(until));
  }
  const Stamp from = options.replay_from == 0 ? newest + 1 : options.replay_from;
  if (log.first > std::min(from, newest)) {
    throw OperationError(ErrorCode::snapshot_too_old, "the log was cut: it begins at " + moment_text(log.first) +
                                                          ", and the data directory ends at " + moment_text(newest));
  }
  const auto row = target.oplog.row(newest), there = copy.oplog.row(newest);
  if (!row || !there || !same_entry(*row, *there)) {
    throw OperationError(ErrorCode::invalid_options, "the log isn't that of a later copy: its entry at " + moment_text(newest) +
                                                         " is another one, or is missing");
  }
  return from;
}

class Report {
 public:
  Report(Stamp from, Stamp until) : from_(from >> 32), until_(until >> 32) {}

  void show(Stamp at) {
    const auto now = std::chrono::steady_clock::now();
    if (now < next_) return;
    next_ = now + report_interval;
    const uint64_t total = until_ > from_ ? until_ - from_ : 0;
    base::log(Severity::info, LogComponent::storage, 7100067, "Replaying the log",
              Attributes().add("done", std::min(total, (at >> 32) - std::min(from_, at >> 32))).add("total", total));
  }

 private:
  const uint64_t from_, until_;  // seconds of the log
  std::chrono::steady_clock::time_point next_ = std::chrono::steady_clock::now() + report_interval;
};

}  // namespace

void replay_log(const Options& options) {
  std::error_code error;
  if (std::filesystem::equivalent(options.dbpath, options.replay_log_of, error))
    throw OperationError(ErrorCode::bad_value, "--replayLogOf needs another directory than --dbpath");
  Target target(options);
  Copy copy(options);
  const Stamp until = options.replay_until;
  Stamp from = check_logs(options, target, copy);
  Report report(from, until);
  int64_t transactions = 0;
  for (bool on = true; on;) {
    std::vector<replication::LogRecord> records = copy.reader.read(from, copy.store.engine().all_committed(), read_bytes);
    const auto beyond = std::find_if(records.begin(), records.end(), [&](const auto& one) { return one.last() > until; });
    on = !records.empty() && beyond == records.end();
    records.erase(beyond, records.end());
    if (records.empty()) break;
    target.applier.apply(records);
    from = records.back().last() + 1;
    transactions += std::count_if(records.begin(), records.end(), [](const auto& one) { return !one.goes_on; });
    report.show(from);
  }
  target.applier.drop_parts();  // a transaction that ends behind the moment
  base::log(Severity::info, LogComponent::storage, 7100068, "Replayed the log",
            Attributes().add("newest", moment_text(target.oplog.newest().optime.ts)).add("transactions", transactions));
}

}  // namespace server
