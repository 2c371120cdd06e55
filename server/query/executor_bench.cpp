// This measures the cost of a query above the storage layer.
#include <benchmark/benchmark.h>

#include "bson/json.h"
#include "server/query/matcher.h"
#include "server/query/reader.h"
#include "server/query/stages/pipeline.h"
#include "server/query/test_support.h"

namespace server::query {
namespace {

constexpr int documents = 10'000;

TestServer& filled_server() {
  static TestServer& server = *[] {
    auto* made = new TestServer;
    auto collection = made->collection("c");
    const std::string text(400, 'x');
    for (int i = 0; i < documents; i += 100) {
      storage::in_transaction(made->store(), [&](storage::Transaction& transaction) {
        for (int j = i; j < i + 100; ++j) {
          bson::Builder document;
          document.append("_id", j).append("a", j % 1000).append("b", j).append("text", text);
          collection->insert(transaction, document.done());
        }
      });
    }
    made->create_index("c", "a_1", "{key: {a: 1}}");
    return made;
  }();
  return server;
}

void run(benchmark::State& state, const std::function<Query(int)>& make) {
  TestServer& server = filled_server();
  TestServer::Operation operation(server);
  auto collection = server.collection("c");
  int64_t read = 0;
  int i = 0;
  for (auto _ : state) {
    Reader reader(operation.op, collection, "test.c", make(i = (i + 7919) % documents));
    while (reader.next()) {
      benchmark::DoNotOptimize(reader.document().size());
      ++read;
    }
  }
  state.SetItemsProcessed(read);
}

void find_by_id(benchmark::State& state) {
  run(state, [](int i) {
    Query query;
    query.filter = bson::Builder().append("_id", i).done();
    return query;
  });
}
BENCHMARK(find_by_id);

void find_ten_by_index(benchmark::State& state) {
  run(state, [](int i) {
    Query query;
    query.filter = bson::Builder().append("a", i % 1000).done();
    return query;
  });
}
BENCHMARK(find_ten_by_index);

void scan_with_filter(benchmark::State& state) {
  run(state, [](int) {
    Query query;
    query.filter = bson::json("{b: {$lt: 0}}");
    return query;
  });
}
BENCHMARK(scan_with_filter)->Unit(benchmark::kMillisecond);

void sort_top_ten(benchmark::State& state) {
  run(state, [](int) {
    Query query;
    query.sort = bson::json("{b: -1}");
    query.limit = 10;
    return query;
  });
}
BENCHMARK(sort_top_ten)->Unit(benchmark::kMillisecond);

// Runs the pipeline over the whole collection.
void run_pipeline(benchmark::State& state, const char* stages) {
  TestServer& server = filled_server();
  TestServer::Operation operation(server);
  const bson::Value parsed = bson::value_from_json(stages).or_throw();
  int64_t returned = 0;
  for (auto _ : state) {
    PipelineContext context(1000, &operation.op);
    context.db = "test";
    context.collection = "c";
    const Pipeline pipeline(parsed.view().as_document(), context);
    const StagePtr stage = pipeline.start();
    while (stage->next()) {
      benchmark::DoNotOptimize(stage->document().size());
      ++returned;
    }
  }
  benchmark::DoNotOptimize(returned);
  state.SetItemsProcessed(state.iterations() * documents);
}
BENCHMARK_CAPTURE(run_pipeline, match, "[{$match: {$expr: {$and: [{$lt: ['$a', 500]}, {$gte: [{$add: ['$b', 1]}, 10000]}]}}}]")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(run_pipeline, group, "[{$group: {_id: '$a', b: {$sum: '$b'}, text: {$first: '$text'}}}]")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(run_pipeline, project,
                  "[{$project: {a: 1, c: {$cond: [{$gt: ['$a', '$b']}, '$a', '$b']}, t: {$substrBytes: ['$text', 0, 9]}}}]")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(run_pipeline, add_fields,
                  "[{$addFields: {c: {$sum: {$map: {input: [1, 2, '$a'], in: {$add: ['$$this', '$b']}}}}}}]")
    ->Unit(benchmark::kMillisecond);

void parse_filter(benchmark::State& state) {
  const bson::Document filter = bson::json("{a: {$gt: 5, $lt: 9}, $or: [{b: 1}, {'c.d': {$in: [1, 2, 3]}}]}");
  for (auto _ : state) benchmark::DoNotOptimize(Matcher::parse(filter));
}
BENCHMARK(parse_filter);

}  // namespace
}  // namespace server::query
