#include "server/script/engine.h"

#include <benchmark/benchmark.h>

#include "bson/json.h"

namespace server::script {
namespace {

bson::Document page() {
  return bson::json("{_id: 1, title: 'About', text: '" + std::string(1000, 'x') +
                    "', author: {name: 'a', id: 7}, tags: ['a', 'b', 'c'], n: 5}");
}

void script_engine_made(benchmark::State& state) {
  for (auto _ : state) {
    Engine engine(nullptr);
    benchmark::DoNotOptimize(engine.compile("this.n > 3"));
  }
}

void script_where(benchmark::State& state) {
  Engine engine(nullptr);
  const auto function = engine.compile("this.n > 3");
  const bson::Document document = page();
  for (auto _ : state) benchmark::DoNotOptimize(engine.holds(function, document));
}

void script_call(benchmark::State& state) {
  Engine engine(nullptr);
  const auto function = engine.compile("function(n) { return n + 1 }");
  const bson::Value n(5.0);
  const bson::ValueView argument = n;
  for (auto _ : state) benchmark::DoNotOptimize(engine.call(function, {&argument, 1}));
}

void script_loop_of_a_million(benchmark::State& state) {
  Engine engine(nullptr);
  const auto function = engine.compile("function() { let s = 0; for (let i = 0; i < 1e6; i++) s += i; return s }");
  for (auto _ : state) benchmark::DoNotOptimize(engine.call(function, {}));
}

BENCHMARK(script_engine_made)->Unit(benchmark::kMicrosecond);
BENCHMARK(script_where);
BENCHMARK(script_call);
BENCHMARK(script_loop_of_a_million)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace server::script
