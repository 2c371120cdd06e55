#include <benchmark/benchmark.h>

#include "bson/builder.h"
#include "bson/compare.h"
#include "bson/diff.h"
#include "bson/json.h"
#include "bson/keystring.h"
#include "bson/validate.h"

namespace bson {
namespace {

// Makes a record as applications store them: about 1 KB, twenty fields, one level of nesting.
Document record(int changed = 0) {
  Builder builder;
  builder.append("_id", ObjectId::generate()).append("title", "A title of some forty characters, or more");
  for (int i = 0; i < 14; ++i)
    builder.append("field" + std::to_string(i), i == changed ? std::string(40, 'y') : std::string(40, 'x'));
  {
    Builder author = builder.object("author");
    author.append("name", "somebody").append("age", 42).append("score", 1.5);
    ArrayBuilder tags = author.array("tags");
    for (const char* tag : {"one", "two", "three"}) tags.append(std::string_view(tag));
  }
  builder.append("count", int64_t{123456789}).append("at", Date{1'700'000'000'000});
  return builder.done();
}

void find_last_field(benchmark::State& state) {
  const Document document = record();
  for (auto _ : state) benchmark::DoNotOptimize(document.find("at"));
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * document.size()));
}
BENCHMARK(find_last_field);

void find_id(benchmark::State& state) {
  const Document document = record();
  for (auto _ : state) benchmark::DoNotOptimize(document.find("_id"));
}
BENCHMARK(find_id);

void validate_record(benchmark::State& state) {
  const Document document = record();
  for (auto _ : state) benchmark::DoNotOptimize(validate(document.bytes()));
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * document.size()));
}
BENCHMARK(validate_record);

void validate_utf8(benchmark::State& state) {
  const Document document = record();
  for (auto _ : state) benchmark::DoNotOptimize(validate(document.bytes(), {.utf8 = true}));
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * document.size()));
}
BENCHMARK(validate_utf8);

void build_record(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(record());
}
BENCHMARK(build_record);

void compare_records(benchmark::State& state) {
  const Document a = record();
  const Document b(Bytes(a.bytes()));
  for (auto _ : state) benchmark::DoNotOptimize(compare(a.view(), b.view()));
}
BENCHMARK(compare_records);

void compare_numbers(benchmark::State& state) {
  const Value a(int64_t{5}), b(5.5);
  for (auto _ : state) benchmark::DoNotOptimize(compare(a, b));
}
BENCHMARK(compare_numbers);

void key_of(benchmark::State& state, const Value& value) {
  KeyString key;
  for (auto _ : state) {
    key.clear();
    benchmark::DoNotOptimize(key.append(value).bytes().data());
  }
}
BENCHMARK_CAPTURE(key_of, object_id, Value(ObjectId::generate()));
BENCHMARK_CAPTURE(key_of, integer, Value(123456));
BENCHMARK_CAPTURE(key_of, real, Value(1234.56));
BENCHMARK_CAPTURE(key_of, decimal, value_from_json("NumberDecimal('1234.56')").or_throw());
BENCHMARK_CAPTURE(key_of, forty_characters, Value(std::string(40, 'x')));

void hash_text(benchmark::State& state) {
  const Value value(std::string(40, 'x'));
  for (auto _ : state) benchmark::DoNotOptimize(hash_value(value));
}
BENCHMARK(hash_text);

void diff_one_field(benchmark::State& state) {
  const Document before = record(), after = record(7);
  for (auto _ : state) benchmark::DoNotOptimize(diff::compute(before, after));
}
BENCHMARK(diff_one_field);

void apply_diff(benchmark::State& state) {
  const Document before = record(), diff = *diff::compute(before, record(7));
  for (auto _ : state) benchmark::DoNotOptimize(diff::apply(before, diff));
}
BENCHMARK(apply_diff);

void write_json(benchmark::State& state) {
  const Document document = record();
  for (auto _ : state) benchmark::DoNotOptimize(to_json(document.view()));
}
BENCHMARK(write_json);

void read_json(benchmark::State& state) {
  const std::string text = to_json(record().view());
  for (auto _ : state) benchmark::DoNotOptimize(json(text));
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * text.size()));
}
BENCHMARK(read_json);

}  // namespace
}  // namespace bson
