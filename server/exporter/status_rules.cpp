#include "server/exporter/status_rules.h"

#include <algorithm>

namespace server::exporter {
namespace {

// Returns how much of the path the pattern takes; nullopt: it doesn't fit. Without ** the path may go on behind it.
std::optional<size_t> fitting(std::string_view pattern, const Path& path) {
  size_t at = 0;
  while (!pattern.empty()) {
    const size_t dot = pattern.find('.');
    const std::string_view name = pattern.substr(0, dot);
    pattern = dot == std::string_view::npos ? std::string_view() : pattern.substr(dot + 1);
    if (name == "**") return at < path.size() ? std::optional(path.size()) : std::nullopt;
    if (at == path.size() || (name != "*" && name != path[at])) return std::nullopt;
    ++at;
  }
  return at;
}

bool any_fits(const std::vector<std::string_view>& patterns, const Path& path) {
  return std::any_of(patterns.begin(), patterns.end(), [&](std::string_view pattern) { return fits(pattern, path); });
}

}  // namespace

bool fits(std::string_view pattern, const Path& path) {
  return fitting(pattern, path) == path.size();
}

const LabelRule* label_rule(const Path& path) {
  static constexpr LabelRule rules[] = {
      {"opcounters.*", "type"},
      {"opcountersRepl.*", "type"},
      {"metrics.commands.*", "command"},
      {"metrics.cursor.lifespan.*", "lifespan"},
      {"dedup.databases.*", "database"},
      {"locks.*.*.*", "mode"},
      {"network.compression.*", "compressor"},
      {"security.authentication.mechanisms.*", "mechanism"},
      {"transportSecurity.*", "version"},
      {"asserts.*", "type"},
  };
  for (const LabelRule& rule : rules) {
    if (fitting(rule.pattern, path)) return &rule;
  }
  return nullptr;
}

bool is_left_out(const Path& path) {
  static const std::vector<std::string_view> patterns = {
      "pid",
      "ok",
      "uptimeMillis",
      "uptimeEstimate",
      "localTime",
      "operationTime",
      "$clusterTime.**",
      "mem.bits",
      "mem.supported",
      "opLatencies.**",  // these are histograms
      "repl.**",         // these have families of their own
  };
  return any_fits(patterns, path);
}

const std::vector<std::string_view>& counter_patterns() {
  static const std::vector<std::string_view> patterns = {
      "asserts.*",
      "changeStreams.readFromLog",
      "changeStreams.rounds",
      "connections.rejected",
      "connections.totalCreated",
      "cursors.timedOut",
      "cursors.totalOpened",
      "dedup.background.*",
      "dedup.contentBytes",
      "dedup.contents",
      "dedup.demotedAtOnce",
      "dedup.disabled",
      "dedup.encoded",
      "dedup.filtered",
      "dedup.forwardBytes",
      "dedup.hopBaseCache.hits",
      "dedup.hopWriteBacks",
      "dedup.hops.reads",
      "dedup.improvedWriteBacks",
      "dedup.index.candidates",
      "dedup.index.falseChecksums",
      "dedup.index.forgotten",
      "dedup.index.grown",
      "dedup.index.thinned",
      "dedup.notWorth",
      "dedup.oplog.*",
      "dedup.queue.dropped",
      "dedup.queue.readBack",
      "dedup.queue.refused",
      "dedup.savedBytes",
      "dedup.sourceCache.gone",
      "dedup.sourceCache.hits",
      "dedup.sourceCache.misses",
      "dedup.unique",
      "dedup.writeBack.conflicts",
      "dedup.writeBack.discarded",
      "dedup.writeBack.discardedBytes",
      "dedup.writeBack.noGain",
      "dedup.writeBack.savedBytes",
      "dedup.writeBack.stale",
      "dedup.writeBack.written",
      "dedup.writeBack.wrong",
      "dedup.writeBacks",
      "diskSpace.ballastReleases",
      "diskSpace.operationsRefused",
      "extra_info.input_blocks",
      "extra_info.involuntary_context_switches",
      "extra_info.output_blocks",
      "extra_info.page_faults",
      "extra_info.page_reclaims",
      "extra_info.system_time_us",
      "extra_info.user_time_us",
      "extra_info.voluntary_context_switches",
      "forwardLog.bases.*",
      "forwardLog.contentBytes",
      "forwardLog.contents",
      "forwardLog.decoded.*",
      "forwardLog.deltaBytes",
      "forwardLog.deltaContentBytes",
      "forwardLog.deltas",
      "forwardLog.forwardBytes",
      "forwardLog.recordBytes",
      "forwardLog.records",
      "forwardLog.sentBytes",
      "forwardLog.whole.*",
      "globalLock.totalTime",
      "locks.*.*.*",
      "logicalSessionRecordCache.sessionsCollectionJobCount",
      "logicalSessionRecordCache.transactionReaperJobCount",
      "metrics.commands.*.*",
      "metrics.cursor.lifespan.*",
      "metrics.cursor.moreThanOneBatch",
      "metrics.cursor.timedOut",
      "metrics.cursor.totalOpened",
      "metrics.document.*",
      "metrics.operation.*",
      "metrics.queryExecutor.**",
      "metrics.ttl.*",
      "network.bytesIn",
      "network.bytesOut",
      "network.compression.*.**",
      "network.numRequests",
      "network.physicalBytesIn",
      "network.physicalBytesOut",
      "opcounters.*",
      "opcountersRepl.*",
      "operationMemory.refused",
      "security.authentication.mechanisms.*.**",
      "transactions.retriedCommandsCount",
      "transactions.retriedStatementsCount",
      "transactions.totalAborted",
      "transactions.totalCommitted",
      "transactions.totalPrepared",
      "transactions.totalPreparedThenAborted",
      "transactions.totalPreparedThenCommitted",
      "transactions.totalStarted",
      "transactions.transactionsCollectionWriteCount",
      "transportSecurity.*",
  };
  return patterns;
}

bool is_counter(const Path& path) {
  return any_fits(counter_patterns(), path);
}

bool is_untyped(const Path& path) {
  return fits("wiredTiger.**", path);
}

bool is_state(const Path& path) {
  static const std::vector<std::string_view> patterns = {"diskSpace.state", "dedup.profile"};
  return any_fits(patterns, path);
}

}  // namespace server::exporter
