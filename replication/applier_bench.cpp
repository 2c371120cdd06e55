// This measures what applying the log costs, beside what writing it did: CPU of the applying thread and of the writing one.
//
//   replication_benchmarks --benchmark_filter=apply
#include <benchmark/benchmark.h>

#include <algorithm>

#include "base/clock.h"
#include "base/cpu_time.h"
#include "base/random.h"
#include "replication/applier.h"
#include "replication/log_reader.h"
#include "storage/testing/temporary_store.h"

using namespace replication;
using storage::TemporaryDirectory;
using storage::Transaction;

namespace {

struct Member {
  explicit Member(const std::string& path)
      : store(options(path)),
        oplog(store, 1 << 30),
        committer(store, oplog, base::system_clock()),
        sessions(store, oplog),
        applier(store, oplog, committer, sessions) {}
  static storage::StoreOptions options(const std::string& path) {
    storage::StoreOptions options(base::system_clock());
    options.path = path;
    options.replicated = true;
    options.dedup.enabled = false;
    return options;
  }
  storage::Store store;
  Oplog oplog;
  LocalCommitter committer;
  SessionStore sessions;
  Applier applier;
};

// Half letters, half repeated: about what zstd makes 2:1 of.
bson::Document document(base::Random& random, int64_t id, size_t bytes) {
  std::string text;
  while (text.size() < bytes)
    text.append(24, static_cast<char>('a' + random.below(26))).append(8, static_cast<char>('a' + random.below(26)));
  bson::Builder out;
  out.append("_id", id).append("n", static_cast<int64_t>(random())).append("text", text);
  return out.done();
}

void apply(benchmark::State& state) {
  const auto documents = static_cast<size_t>(state.range(0)), document_bytes = static_cast<size_t>(state.range(1));
  const auto per_transaction = static_cast<size_t>(state.range(2));
  for (auto _ : state) {
    TemporaryDirectory at_a, at_b;
    Member a(at_a.path()), b(at_b.path());
    base::Random random(1);
    const auto collection = a.store.catalog().create("bench.c", {});
    std::vector<bson::Document> all;
    for (size_t i = 0; i < documents; ++i) all.push_back(document(random, static_cast<int64_t>(i), document_bytes));
    const base::CpuWatch insert_watch;
    for (size_t at = 0; at < documents; at += per_transaction) {
      storage::in_transaction(a.store, [&](Transaction& transaction) {
        transaction.expect_stamps(per_transaction);
        for (size_t i = at; i < std::min(documents, at + per_transaction); ++i)
          a.committer.insert(transaction, *collection, all[i]);
      });
    }
    const double inserting = insert_watch.seconds();
    const base::CpuWatch read_watch;
    LogReader reader(a.store, a.oplog);
    std::vector<Bytes> wire;
    size_t bytes = 0;
    for (storage::Stamp from = 1;;) {
      const auto records = reader.read(from, a.store.engine().all_committed(), 4 << 20);
      if (records.empty()) break;
      for (const LogRecord& record : records) bytes += wire.emplace_back(encode(record)).size();
      from = records.back().last() + 1;
    }
    const double reading = read_watch.seconds();
    double decoding = 0, applying = 0;
    std::vector<LogRecord> batch;
    for (size_t i = 0; i < wire.size(); ++i) {
      const base::CpuWatch decode_watch;
      batch.push_back(decode_record(wire[i]).or_throw());
      decoding += decode_watch.seconds();
      if (batch.size() < 64 && i + 1 < wire.size()) continue;
      const base::CpuWatch apply_watch;
      b.applier.apply(batch);
      applying += apply_watch.seconds();
      batch.clear();
    }
    const auto each = [&](const char* name, double seconds) {
      state.counters[name] = 1e6 * seconds / static_cast<double>(documents);
    };
    each("insert_us", inserting);
    each("read_encode_us", reading);
    each("decode_us", decoding);
    each("apply_us", applying);
    state.counters["bytes_share"] = static_cast<double>(bytes) / static_cast<double>(documents * document_bytes);
  }
}

BENCHMARK(apply)
    ->ArgNames({"documents", "bytes", "per_transaction"})
    ->Args({20000, 500, 1})
    ->Args({20000, 500, 100})
    ->Args({5000, 16000, 1})
    ->Args({5000, 16000, 100})
    ->Iterations(1);

}  // namespace
