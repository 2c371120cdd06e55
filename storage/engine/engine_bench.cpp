// These benchmarks insert documents of 1 KB. They compare bare WiredTiger under the engine's settings with a collection (record,
// _id index, counts) and the log's row.
//
//   storage_benchmarks --benchmark_filter=insert
//
// The argument is the number of documents per transaction; items_per_second counts documents.
#include <benchmark/benchmark.h>

#include "base/random.h"
#include "bson/builder.h"
#include "storage/engine/internals.h"
#include "storage/testing/temporary_store.h"

using namespace storage;

namespace {

constexpr size_t document_bytes = 1024;
constexpr size_t log_row_bytes = 64;  // an entry that names its document has about this size

struct Bench {
  TemporaryDirectory directory;
  Store store{options(directory.path())};
  std::shared_ptr<Collection> collection = store.catalog().create("bench.documents", {});
  Table raw = store.engine().open_table("raw", {.allocation_bytes = 512});
  Table log = store.engine().open_table("log", {.leaf_page_bytes = 64 << 10});
  std::atomic<int64_t> next{1};

  static StoreOptions options(const std::string& path) {
    StoreOptions options(base::system_clock());
    options.path = path;
    options.cache_bytes = 1ull << 30;
    options.dedup.enabled = false;
    return options;
  }
};
std::unique_ptr<Bench> bench;

// The document holds words as text does, so that its compression costs what it costs in practice.
bson::Document random_document(base::Random& random, int64_t id) {
  static const char* words[] = {"the",        "record", "of",     "a",  "document", "server", "with",
                                "similarity", "deltas", "stands", "in", "its",      "chain",  "and"};
  std::string text;
  while (text.size() < document_bytes - 40) {
    text += words[random.below(std::size(words))];
    text += random.below(6) ? " " : std::to_string(random.below(100000)) + " ";
  }
  bson::Builder out;
  out.append("_id", id).append("text", text);
  return out.done();
}

void start(benchmark::State& state) {
  if (state.thread_index() == 0) bench = std::make_unique<Bench>();
}
void stop(benchmark::State& state) {
  if (state.thread_index() == 0) bench.reset();
}

// The documents are made in advance, because the benchmark doesn't measure how they are made.
template <class Insert>
void run(benchmark::State& state, Insert&& insert) {
  base::Random random(static_cast<uint64_t>(state.thread_index()) + 1);
  std::vector<std::pair<int64_t, Bytes>> batch;
  for (auto _ : state) {
    state.PauseTiming();
    batch.clear();
    for (int64_t i = 0; i < 1000; ++i) {
      const int64_t id = bench->next.fetch_add(1);
      batch.emplace_back(id, random_document(random, id).bytes());
    }
    state.ResumeTiming();
    insert(batch);
  }
  state.SetItemsProcessed(state.iterations() * 1000);
}

void insert_wiredtiger(benchmark::State& state) {
  start(state);
  std::optional<wt::Session> session;
  wt::Cursor cursor;
  run(state, [&](const auto& batch) {
    if (!session) {
      session = bench->store.engine().internals().connection.open_session();
      cursor = wt::open_cursor(session->get(), "table:raw");
    }
    const auto per_transaction = static_cast<size_t>(state.range(0));
    for (size_t i = 0; i < batch.size(); i += per_transaction) {
      (*session)->begin_transaction(session->get(), nullptr);
      for (size_t j = i; j < i + per_transaction; ++j) {
        wt::set_key(cursor.get(), record_key(batch[j].first));
        wt::set_value(cursor.get(), batch[j].second);
        wt::check(cursor->insert(cursor.get()), "inserting");
      }
      wt::check((*session)->commit_transaction(session->get(), nullptr), "committing");
    }
  });
  cursor.reset();
  session.reset();
  stop(state);
}

void insert_collection(benchmark::State& state) {
  start(state);
  const Bytes row(log_row_bytes, 'r');
  run(state, [&](const auto& batch) {
    const auto per_transaction = static_cast<size_t>(state.range(0));
    for (size_t i = 0; i < batch.size(); i += per_transaction) {
      in_transaction(bench->store, [&](Transaction& transaction) {
        for (size_t j = i; j < i + per_transaction; ++j) {
          const Stored stored = bench->collection->insert(transaction, bson::DocumentView(batch[j].second));
          Bytes key;
          base::append_be64(key, stored.generation);
          bench->log.put(transaction, key, row);
        }
      });
    }
  });
  stop(state);
}

BENCHMARK(insert_wiredtiger)->Arg(1)->Arg(100)->Threads(1)->Threads(2)->UseRealTime()->MinTime(2);
BENCHMARK(insert_collection)->Arg(1)->Arg(100)->Threads(1)->Threads(2)->UseRealTime()->MinTime(2);

}  // namespace
