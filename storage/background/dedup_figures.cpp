#include "storage/background/dedup_figures.h"

#include <algorithm>

#include "storage/background/dedup_background.h"
#include "storage/contents/contents.h"
#include "storage/contents/record_store_state.h"
#include "storage/engine/engine.h"

namespace storage {

namespace {

int64_t number(uint64_t value) {
  return static_cast<int64_t>(value);
}

void append_all(bson::Builder& out, std::initializer_list<std::pair<const char*, uint64_t>> figures) {
  for (const auto& [name, value] : figures) out.append(name, number(value));
}

// This struct sums up what a set of collections stores, and how it was read.
struct StoreSum {
  StoreCounts counts;
  int64_t records = 0;
  int64_t logical_bytes = 0;
  int64_t block_bytes = 0;  // This is the size of the files without their free space.
  int64_t file_bytes = 0;
  uint64_t decoded = 0, hops = 0, hops_max = 0;
  uint64_t demoted = 0, promoted = 0;
  std::vector<const RecordStore::State*> stores;
  // A collection that is dropped meanwhile stays alive while its store is read.
  std::vector<std::shared_ptr<const Collection>> kept;
};

void add_file(StoreSum& stored, const Engine& engine, const std::string& table) {
  const int64_t bytes = engine.file_bytes(table);
  stored.file_bytes += bytes;
  stored.block_bytes += bytes - std::min(bytes, engine.reusable_bytes(table));
}

void add(StoreSum& stored, Engine& engine, Collection& collection) {
  const auto& store = collection.records().state();
  stored.counts += store.chains.counters().get();
  stored.records += collection.stored_records();
  stored.logical_bytes += collection.stored_bytes();
  for (const auto& name : store_table_names(collection.id())) add_file(stored, engine, name);
  stored.decoded += store.hops.count();
  stored.hops += store.hops.sum();
  stored.hops_max = std::max<uint64_t>(stored.hops_max, store.hops_max.load());
  stored.demoted += store.demoted.load();
  stored.promoted += store.promoted.load();
  stored.stores.push_back(&store);
}

void append(bson::Builder& out, const StoreSum& stored) {
  const StoreCounts& counts = stored.counts;
  out.append("logicalBytes", stored.logical_bytes);
  out.append("storedBytes", counts.stored_bytes());
  out.append("blockBytes", stored.block_bytes);
  out.append("fileBytes", stored.file_bytes);
  out.append("records", stored.records);
  out.append("deltas", counts.stubs);
  out.append("heads", counts.heads);
  out.append("demoted", number(stored.demoted));
  out.append("promoted", number(stored.promoted));
  out.append("chainRows", counts.chain_rows);
  out.append("chainBytes", counts.chain_bytes);
  // Like all counts these may be out of date after a crash; they are small, so they could come out negative.
  out.append("retained", std::max<int64_t>(0, counts.dead));
  out.append("retainedBytes", std::max<int64_t>(0, counts.dead_bytes));
  {
    auto hops = out.object("hops");
    hops.append("reads", number(stored.decoded));
    hops.append("mean", stored.decoded ? static_cast<double>(stored.hops) / static_cast<double>(stored.decoded) : 0.0);
    hops.append("max", number(stored.hops_max));
    auto quantiles = hops.object("quantiles");
    for (const auto& [name, q] : {std::pair{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}}) {
      uint64_t value = 0;
      for (const auto* store : stored.stores)
        value = std::max(value, store->hops.count() ? std::min<uint64_t>(store->hops.quantile(q), store->hops_max.load()) : 0);
      quantiles.append(name, number(value));
    }
  }
  auto decode = out.object("decodeMicros");
  for (const auto& [name, q] : {std::pair{"p50", 0.5}, {"p99", 0.99}}) {
    uint64_t value = 0;
    for (const auto* store : stored.stores)
      value = std::max(value, store->decode_micros.count() ? store->decode_micros.quantile(q) : 0);
    decode.append(name, number(value));
  }
}

void append(bson::Builder& out, const LogFigures& log) {
  append_all(out, {{"entries", log.entries},
                   {"rawBytes", log.raw_bytes},
                   {"forwardBytes", log.forward_bytes},
                   {"forwardBatches", log.batches},
                   {"forwardZstdBytes", log.zstd_bytes}});
}

void append(bson::Builder& out, const dedup::EncoderStats& stats) {
  append_all(out, {{"contents", stats.contents},
                   {"encoded", stats.encoded},
                   {"unique", stats.unique},
                   {"filtered", stats.filtered},
                   {"notWorth", stats.not_worth},
                   {"disabled", stats.disabled},
                   {"contentBytes", stats.content_bytes},
                   {"forwardBytes", stats.forward_bytes},
                   {"savedBytes", stats.saved_bytes},
                   {"writeBacks", stats.write_backs},
                   {"hopWriteBacks", stats.hop_write_backs},
                   {"improvedWriteBacks", stats.improved_write_backs},
                   {"demotedAtOnce", stats.demoted_at_once}});
  {
    auto cache = out.object("sourceCache");
    append_all(cache, {{"bytes", stats.source_cache_bytes},
                       {"hits", stats.source_hits},
                       {"misses", stats.source_fetches},
                       {"gone", stats.sources_gone}});
  }
  auto index = out.object("index");
  append_all(index, {{"bytes", stats.index_bytes},
                     {"liveBytes", stats.index_live_bytes},
                     {"records", stats.live_entries},
                     {"recordsIndexed", stats.index_records},
                     {"grown", stats.index_grown},
                     {"forgotten", stats.index_forgotten},
                     {"thinned", stats.index_thinned},
                     {"candidates", stats.candidates},
                     {"falseChecksums", stats.false_matches},
                     {"metadataCacheBytes", stats.metadata_bytes}});
}

void append_governor(bson::Builder& out, const dedup::EncoderStats& stats) {
  const dedup::GovernorState& governor = stats.governor;
  out.append("enabled", stats.enabled);
  out.append("reason", dedup::to_string(governor.reason));
  out.append("ratioJudged", governor.ratio);
  out.append("ratioNow", governor.ratio_now);
  out.append("contentsUntilJudged", number(governor.contents_until_judged));
  out.append("ratio", stats.content_bytes > stats.saved_bytes ? static_cast<double>(stats.content_bytes) /
                                                                    static_cast<double>(stats.content_bytes - stats.saved_bytes)
                                                              : 1.0);
  out.append("sizeThreshold", static_cast<int64_t>(stats.size_threshold));
}

dedup::EncoderStats sum(const DedupFigures& figures) {
  dedup::EncoderStats all;
  for (const auto& [name, database] : figures.databases) storage::add(all, database.encoder);
  return all;
}

void append_write_back(bson::Builder& out, const DedupFigures& figures) {
  append_all(out, {{"records", figures.write_back_records},
                   {"bytes", figures.write_back_bytes},
                   {"written", figures.write_back.written},
                   {"savedBytes", figures.write_back.saved_bytes},
                   {"stale", figures.write_back.stale},
                   {"noGain", figures.write_back.no_gain},
                   {"conflicts", figures.write_back.conflicts},
                   {"wrong", figures.write_back.wrong},
                   {"discarded", figures.write_back_discarded},
                   {"discardedBytes", figures.write_back_discarded_bytes}});
}

}  // namespace

void append_server_figures(Contents& contents, const Catalog& catalog, const DedupBackground& background, bson::Builder& out) {
  Engine& engine = contents.engine;
  const DedupFigures figures = background.figures();
  const auto queue = background.queue_figures();
  StoreSum stored;
  const auto names = catalog.databases();
  for (const auto& database : names) {
    for (const auto& collection : catalog.collections(database)) {
      if (collection->read_only()) continue;
      stored.kept.push_back(collection);
      add(stored, engine, *collection);
    }
  }
  add_file(stored, engine, "feature_metadata");
  out.append("enabled", background.options.enabled());
  out.append("profile", contents.profile);
  append(out, stored);
  append(out, sum(figures));
  {
    auto section = out.object("queue");
    append_all(section, {{"records", queue.records},
                         {"bytes", queue.bytes},
                         {"dropped", queue.dropped},
                         {"refused", queue.refused},
                         {"collectionsBehind", queue.behind},
                         {"readBack", figures.caught_up}});
  }
  {
    auto section = out.object("writeBack");
    append_write_back(section, figures);
  }
  {
    const dedup::HopBaseCache& cache = contents.hop_bases;
    auto section = out.object("hopBaseCache");
    append_all(section, {{"bytes", cache.bytes()}, {"hits", cache.hits()}});
  }
  {
    auto section = out.object("background");
    append_all(section, {{"cpuMicros", figures.cpu_micros},
                         {"restedMicros", figures.rested_micros},
                         {"spliced", figures.spliced},
                         {"sweptRows", figures.swept_rows},
                         {"successors", figures.successors},
                         {"chainsCut", figures.cut},
                         {"packedRecords", figures.packed_records},
                         {"compactions", figures.compactions}});
  }
  {
    auto section = out.object("databases");
    for (const auto& [name, database] : figures.databases) {
      if (std::find(names.begin(), names.end(), name) == names.end()) continue;  // The database was dropped.
      auto one = section.object(name);
      append_governor(one, database.encoder);
      one.append("rebuildMillis", database.rebuild_ms);
    }
  }
  LogFigures log;
  for (const auto& [name, database] : figures.databases) log += database.log;
  auto section = out.object("oplog");
  append(section, log);
}

void append_database_figures(Engine& engine, const Catalog& catalog, const DedupBackground& background, const std::string& db,
                             bson::Builder& out) {
  StoreSum stored;
  for (const auto& collection : catalog.collections(db)) {
    if (collection->read_only()) continue;
    stored.kept.push_back(collection);
    add(stored, engine, *collection);
  }
  append(out, stored);
  const DedupFigures figures = background.figures();
  const auto found = figures.databases.find(db);
  if (found == figures.databases.end()) return;
  append(out, found->second.encoder);
  {
    auto section = out.object("governor");
    append_governor(section, found->second.encoder);
  }
  auto section = out.object("oplog");
  append(section, found->second.log);
}

void append_collection_figures(Engine& engine, const Collection& collection, bson::Builder& out) {
  StoreSum stored;
  add(stored, engine, const_cast<Collection&>(collection));
  append(out, stored);
}

}  // namespace storage
