// This benchmark reads any version of a 64 KB document out of a chain of several hundred.
//
//   storage_benchmarks --benchmark_filter=read
//
// It reads each version again and again and counts the quickest read (in CPU time of the thread, since the machine is shared);
// p50, p99 and worst are over the versions. `disk` counts the blocks that one read after a restart reads from the files.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <map>

#include "base/cpu_time.h"
#include "base/random.h"
#include "storage/background/dedup_service.h"
#include "storage/contents/contents.h"
#include "storage/contents/record_store_state.h"
#include "storage/engine/internals.h"
#include "storage/testing/temporary_store.h"

using namespace storage;

namespace {

Bytes words(base::Random& random, size_t bytes) {
  Bytes out;
  while (out.size() < bytes) {
    for (uint64_t letters = 2 + random.below(9); letters > 0; --letters) out.push_back(static_cast<char>('a' + random.below(26)));
    out.push_back(' ');
  }
  return out;
}

// Makes one document's versions: a few words change from one to the next.
std::vector<Bytes> versions(size_t count, size_t bytes) {
  base::Random random(1);
  std::vector<Bytes> all;
  Bytes text = words(random, bytes);
  for (size_t i = 0; i < count; ++i) {
    for (uint64_t edits = 1 + random.below(3); edits > 0; --edits) {
      const size_t at = random.below(text.size() - 64);
      text.replace(at, random.below(40), words(random, random.below(40)));
    }
    bson::Builder out;
    out.append("_id", static_cast<int64_t>(i)).append("text", text);
    all.push_back(out.done().bytes());
  }
  return all;
}

StoreOptions bench_options(const std::string& path, const std::string& profile) {
  StoreOptions options(base::system_clock());
  options.path = path;
  options.cache_bytes = 256 << 20;
  options.dedup.profile = profile;
  return options;
}

int64_t blocks_read(Store& store) {
  bson::Builder out;
  append_engine_statistics(store.engine().internals().connection, out);
  const bson::Document stats = out.done();
  return stats["block-manager"].as_document()["blocks read"].to_int64();
}

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values[std::min(values.size() - 1, static_cast<size_t>(q * static_cast<double>(values.size())))];
}

// HopBases says what a read finds of other reads' hop bases: none are kept, all are forgotten before each read, or all are
// kept.
enum HopBases : int64_t { none, forgotten, kept };

void read_versions(benchmark::State& state, const char* profile) {
  const auto count = static_cast<size_t>(state.range(0));
  const auto contents = versions(count, static_cast<size_t>(state.range(1)));
  TemporaryDirectory directory;
  std::vector<RecordId> records;
  {
    Store store(bench_options(directory.path(), profile));
    const auto collection = store.catalog().create("bench.documents", {});
    for (const auto& content : contents) {
      records.push_back(
          in_transaction(store, [&](Transaction& t) { return collection->insert(t, bson::DocumentView(content)).id; }));
    }
    store.dedup().drain(true);
  }
  std::vector<double> disk;
  for (size_t i = 0; i < 8; ++i) {
    Store store(bench_options(directory.path(), profile));
    const auto collection = store.catalog().open("bench.documents");
    store.dedup().drain();
    const int64_t before = blocks_read(store);
    Transaction transaction(store, Transaction::Mode::read);
    collection->find(transaction, records[i * (count - 1) / 7], nullptr);
    disk.push_back(static_cast<double>(blocks_read(store) - before));
  }

  Store store(bench_options(directory.path(), profile));
  const auto collection = store.catalog().open("bench.documents");
  store.dedup().drain();
  const auto hop_bases = static_cast<HopBases>(state.range(2));
  dedup::HopBaseCache& cache = store.contents().hop_bases;
  const size_t cache_bytes = dedup::Options{}.hop_base_cache_bytes;
  if (hop_bases == none) cache.set_bytes_max(0);
  std::vector<double> best(count, 1e9), hops(count);
  for (auto _ : state) {
    for (size_t i = 0; i < count; ++i) {
      if (hop_bases == forgotten) {
        cache.set_bytes_max(0);
        cache.set_bytes_max(cache_bytes);
      }
      const base::CpuWatch watch;
      ReadInfo info;
      Transaction transaction(store, Transaction::Mode::read);
      const auto found = collection->records().find(transaction, records[i], &info);
      best[i] = std::min(best[i], 1e6 * watch.seconds());
      hops[i] = info.hops;
      if (!found || *found != contents[i]) state.SkipWithError("a version reads as something else");
    }
  }
  double hops_sum = 0;
  for (const double one : hops) hops_sum += one;
  state.counters["latest_hops"] = hops.back();
  state.counters["hops_mean"] = hops_sum / static_cast<double>(count);
  state.counters["hops_max"] = quantile(hops, 1);
  state.counters["p50_us"] = quantile(best, 0.5);
  state.counters["p99_us"] = quantile(best, 0.99);
  state.counters["worst_us"] = quantile(best, 1);
  state.counters["disk_max"] = quantile(disk, 1);
}

void read_versions_balanced(benchmark::State& state) {
  read_versions(state, "balanced");
}
void read_versions_archive(benchmark::State& state) {
  read_versions(state, "archive");
}

BENCHMARK(read_versions_balanced)
    ->ArgNames({"versions", "bytes", "hop_bases"})
    ->ArgsProduct({{500}, {65536, 8192}, {none, forgotten, kept}})
    ->Iterations(30);
BENCHMARK(read_versions_archive)
    ->ArgNames({"versions", "bytes", "hop_bases"})
    ->ArgsProduct({{500}, {65536}, {none, forgotten, kept}})
    ->Iterations(30);

}  // namespace
