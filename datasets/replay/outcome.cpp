#include "datasets/replay/outcome.h"

#include <algorithm>

#include "bson/builder.h"
#include "bson/path.h"

namespace datasets::replay {
namespace {

Latency latency(const base::Histogram& histogram) {
  const uint64_t count = histogram.count();
  return {count,
          count ? static_cast<double>(histogram.sum()) / static_cast<double>(count) : 0,
          histogram.quantile(0.5),
          histogram.quantile(0.9),
          histogram.quantile(0.99),
          histogram.quantile(0.999)};
}

void append(bson::Builder& out, std::string_view name, const Latency& latency) {
  bson::Builder to = out.object(name);
  to.append("count", static_cast<int64_t>(latency.count)).append("meanMicros", latency.mean_us);
  to.append("p50Micros", static_cast<int64_t>(latency.p50_us)).append("p90Micros", static_cast<int64_t>(latency.p90_us));
  to.append("p99Micros", static_cast<int64_t>(latency.p99_us)).append("p999Micros", static_cast<int64_t>(latency.p999_us));
}

void append(bson::Builder& out, std::string_view name, const std::optional<Verified>& verified) {
  if (!verified) return;
  bson::Builder to = out.object(name);
  to.append("documents", static_cast<int64_t>(verified->documents)).append("byId", static_cast<int64_t>(verified->by_id));
  to.append("differing", static_cast<int64_t>(verified->differing)).append("missing", static_cast<int64_t>(verified->missing));
  to.append("unexpected", static_cast<int64_t>(verified->unexpected)).append("seconds", verified->seconds);
  bson::ArrayBuilder examples = to.array("examples");
  for (const std::string& example : verified->examples) examples.append(example);
}

double ratio(uint64_t whole, int64_t part) {
  return part > 0 ? static_cast<double>(whole) / static_cast<double>(part) : 0;
}

// The first of the paths that the document has.
int64_t number_at(const bson::Document& document, std::initializer_list<const char*> paths) {
  for (const char* path : paths) {
    if (const bson::ValueView value = bson::value_at(document, path); value.is_number()) return value.to_int64();
  }
  return 0;
}

}  // namespace

void Outcome::take(const Measured& measured) {
  auto count = [](const base::Counter& counter) { return static_cast<uint64_t>(counter.get()); };
  documents = count(measured.documents);
  replaced = count(measured.replaced);
  removed = count(measured.removed);
  failed = count(measured.failed);
  logical_bytes = count(measured.logical_bytes);
  text_bytes = count(measured.text_bytes);
  reads = count(measured.reads);
  documents_read = count(measured.documents_read);
  reads_wrong = count(measured.reads_wrong);
  insert = latency(measured.insert_us);
  read = latency(measured.read_us);
}

bson::Document Outcome::to_document() const {
  const int64_t file_bytes = files ? static_cast<int64_t>(files->data_bytes) : number_at(db_stats, {"totalSize"});
  const int64_t dedup_files = number_at(server_status, {"dedup.fileBytes"});
  const int64_t block_bytes = dedup_files > 0 ? dedup_files : static_cast<int64_t>(storage_bytes);
  const bool deduplicates = bson::value_at(server_status, "dedup.storedBytes").is_number();
  const int64_t dedup_bytes = deduplicates ? number_at(server_status, {"dedup.storedBytes"}) : number_at(db_stats, {"dataSize"});
  const int64_t index_memory = number_at(server_status, {"dedup.index.bytes"});
  const int64_t index_records = number_at(server_status, {"dedup.index.records"});
  const int64_t raw = number_at(server_status, {"dedup.oplog.rawBytes"});

  // If documents were replaced or removed, the database holds less than was written.
  const uint64_t live_bytes = replaced + removed > 0 && verified ? verified->bytes : logical_bytes;

  bson::Builder out;
  out.append("label", label).append("source", source).append("kind", kind).append("order", order).append("trace", trace);
  out.append("serverVersion", bson::value_at(build_info, "version"));
  out.append("documents", static_cast<int64_t>(documents));
  out.append("verified", static_cast<int64_t>(verified ? verified->documents : 0));
  if (verified_after_restart) out.append("verifiedAfterRestart", static_cast<int64_t>(verified_after_restart->documents));
  out.append("logicalBytes", static_cast<int64_t>(live_bytes))
      .append("writtenBytes", static_cast<int64_t>(logical_bytes))
      .append("textBytes", static_cast<int64_t>(text_bytes));
  out.append("dedupBytes", dedup_bytes).append("blockBytes", block_bytes).append("fileBytes", file_bytes);
  out.append("oplogBytes", files ? static_cast<int64_t>(files->oplog_bytes) : raw);
  out.append("journalBytes", files ? static_cast<int64_t>(files->journal_bytes) : int64_t{0});
  out.append("indexBytesPerRecord",
             index_records > 0 ? static_cast<double>(index_memory) / static_cast<double>(index_records) : 0.0);
  out.append("insertsPerSecond", inserts_per_second());
  {
    bson::Builder ratios = out.object("ratios");
    ratios.append("dedup", ratio(live_bytes, dedup_bytes))
        .append("block", ratio(live_bytes, block_bytes))
        .append("file", ratio(live_bytes, file_bytes));
  }
  {
    bson::Builder oplog = out.object("oplog");
    for (const char* field : {"rawBytes", "forwardBytes", "forwardBatches", "forwardZstdBytes", "rawZstdBytes"}) {
      oplog.append(field, bson::value_at(server_status, std::string("dedup.oplog.") + field));
    }
    oplog.append("fileBytes", files ? static_cast<int64_t>(files->oplog_bytes) : int64_t{0});
  }
  {
    bson::Builder all = out.object("latency");
    append(all, "insert", insert);
    if (reads > 0) append(all, "read", read);
  }
  {
    bson::Builder load = out.object("load");
    load.append("seconds", load_seconds).append("drainSeconds", drain_seconds).append("checkpointSeconds", checkpoint_seconds);
    load.append("compactSeconds", compact_seconds)
        .append("restartSeconds", restart_seconds)
        .append("clientCpuSeconds", client_cpu_seconds);
    load.append("bytesPerSecond", load_seconds > 0 ? static_cast<double>(logical_bytes) / load_seconds : 0.0);
    load.append("replaced", static_cast<int64_t>(replaced))
        .append("removed", static_cast<int64_t>(removed))
        .append("failed", static_cast<int64_t>(failed));
    load.append("reads", static_cast<int64_t>(reads))
        .append("documentsRead", static_cast<int64_t>(documents_read))
        .append("readsWrong", static_cast<int64_t>(reads_wrong));
  }
  {
    bson::Builder verification = out.object("verification");
    append(verification, "afterLoad", verified);
    append(verification, "afterRestart", verified_after_restart);
  }
  {
    bson::Builder problem = out.object("problems");
    problem.append("count", static_cast<int64_t>(problem_count)).append("unknownFiles", static_cast<int64_t>(unknown_files));
    bson::ArrayBuilder list = problem.array("first");
    for (const std::string& text : problems) list.append(text);
  }
  {
    int64_t resident = 0;
    for (const Sample& sample : samples) resident = std::max(resident, sample.resident_bytes);
    out.append("residentBytesMax", resident);
    out.append("indexBytes", static_cast<int64_t>(index_bytes));
  }
  {
    bson::ArrayBuilder list = out.array("samples");
    for (const Sample& sample : samples) {
      list.object()
          .append("seconds", sample.seconds)
          .append("documents", sample.documents)
          .append("logicalBytes", sample.logical_bytes)
          .append("residentBytes", sample.resident_bytes)
          .append("storedBytes", sample.stored_bytes)
          .append("queued", sample.queued)
          .append("insertCommands", sample.inserts)
          .append("insertMicros", sample.insert_us)
          .append("slowestMicros", sample.slowest_us);
    }
  }
  if (files) {
    bson::ArrayBuilder list = out.array("files");
    for (const auto& file : files->files)
      list.object().append("name", file.name).append("bytes", static_cast<int64_t>(file.bytes));
  }
  {
    const bson::Document& status = status_after_reading.empty() ? server_status : status_after_reading;
    bson::Builder decode = out.object("decode");
    decode.append("reads", bson::value_at(status, "dedup.hops.reads"))
        .append("hopsMean", bson::value_at(status, "dedup.hops.mean"));
    decode.append("hopsMax", bson::value_at(status, "dedup.hops.max"))
        .append("hops", bson::value_at(status, "dedup.hops.quantiles"));
    decode.append("micros", bson::value_at(status, "dedup.decodeMicros"));
  }
  out.append("dedup", bson::value_at(server_status, "dedup"));
  out.append("wiredTigerCache", bson::value_at(server_status, "wiredTiger.cache"));
  return out.done();
}

}  // namespace datasets::replay
