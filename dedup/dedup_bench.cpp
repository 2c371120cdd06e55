// These benchmarks measure how fast the parts and the whole are, on one core.
#include <benchmark/benchmark.h>

#include <map>

#include "base/hash.h"
#include "base/random.h"
#include "dedup/decoder.h"
#include "dedup/encoder.h"
#include "dedup/memory_pages.h"
#include "dedup/sketch.h"

namespace {

using namespace dedup;

constexpr size_t content_bytes = 16 << 10;

Bytes prose(base::Random& random, size_t bytes) {
  Bytes text;
  while (text.size() < bytes) {
    for (uint64_t letters = 2 + random.below(8); letters > 0; --letters) text += static_cast<char>('a' + random.below(20));
    text += random.below(12) ? ' ' : '\n';
  }
  text.resize(bytes);
  return text;
}

// Changes a few words here and there.
Bytes edited(base::Random& random, Bytes text) {
  for (uint64_t edits = 1 + random.below(4); edits > 0; --edits)
    text.replace(random.below(text.size()), random.below(40), prose(random, random.below(60)));
  return text;
}

void count_bytes(benchmark::State& state, size_t bytes) {
  state.SetBytesProcessed(static_cast<int64_t>(bytes) * static_cast<int64_t>(state.iterations()));
}

void sketch(benchmark::State& state) {
  Options options;
  options.sketch_method = static_cast<SketchMethod>(state.range(0));
  const Sketcher sketcher(options, 1);
  base::Random random(1);
  const Bytes text = prose(random, content_bytes);
  for (auto _ : state) benchmark::DoNotOptimize(sketcher.sketch(1, text));
  count_bytes(state, text.size());
}
BENCHMARK(sketch)->ArgName("method")->DenseRange(0, 2);

// Measures the default method with each of the vector widths that this machine has, widest first.
void sketch_windows_kernel(benchmark::State& state) {
  const auto kernels = window_kernels();
  if (static_cast<size_t>(state.range(0)) >= kernels.size()) return state.SkipWithError("no such kernel here");
  const WindowKernel& kernel = kernels[static_cast<size_t>(state.range(0))];
  state.SetLabel(kernel.name);
  const Sketcher sketcher(Options{}, 1, kernel);
  base::Random random(1);
  const Bytes text = prose(random, content_bytes);
  for (auto _ : state) benchmark::DoNotOptimize(sketcher.sketch(1, text));
  count_bytes(state, text.size());
}
BENCHMARK(sketch_windows_kernel)->ArgName("kernel")->DenseRange(0, 3);

struct Forms : FormSource {
  std::map<ContentId, StoredForm> forms;
  base::Result<StoredForm> fetch_form(const ContentId& id) override { return forms.at(id); }
};

void decode_a_chain(benchmark::State& state) {
  base::Random random(1);
  Forms forms;
  Bytes newer = prose(random, content_bytes);
  const auto hops = state.range(0);
  forms.forms[{1, hops, 0}] = {true, newer, {}, base::checksum32(newer), static_cast<uint32_t>(newer.size())};
  for (int64_t record = hops - 1; record >= 0; --record) {
    const Bytes older = edited(random, newer);
    forms.forms[{1, record, 0}] = {
        false, *dedup::encode(newer, older), {1, record + 1, 0}, base::checksum32(older), static_cast<uint32_t>(older.size())};
    newer = older;
  }
  for (auto _ : state) benchmark::DoNotOptimize(decode({1, 0, 0}, forms));
  count_bytes(state, content_bytes);
}
BENCHMARK(decode_a_chain)->ArgName("hops")->Arg(0)->Arg(1)->Arg(15);

struct NoStore : MetadataStore {
  std::optional<Bytes> read_page(uint32_t) override { return std::nullopt; }
  void write_page(uint32_t, BytesView) override {}
  void erase_page(uint32_t) override {}
  std::vector<uint32_t> pages() override { return {}; }
};
struct NoRecords : RecordSource {
  std::optional<Bytes> fetch(const ContentId&) override { return std::nullopt; }
};

// Edits 500 texts in turn.
void whole_encoder(benchmark::State& state) {
  NoStore store;
  NoRecords records;
  Encoder encoder(Options::of(static_cast<Profile>(state.range(0))), 1, store);
  base::Random random(1);
  std::vector<Bytes> texts;
  for (int i = 0; i < 500; ++i) texts.push_back(prose(random, content_bytes));
  int64_t record = 0;
  size_t bytes = 0;
  for (auto _ : state) {
    state.PauseTiming();
    Bytes& text = texts[static_cast<size_t>(record) % texts.size()];
    text = edited(random, std::move(text));
    state.ResumeTiming();
    benchmark::DoNotOptimize(encoder.encode({1, ++record, 1}, text, records));
    bytes += text.size();
  }
  state.SetBytesProcessed(static_cast<int64_t>(bytes));
}
BENCHMARK(whole_encoder)->ArgName("profile")->DenseRange(0, 2);

// Fills the index of 200,000 documents from the metadata, as at a start. `bytes` is what one of them takes.
void rebuild(benchmark::State& state) {
  MemoryPages pages;
  constexpr int64_t documents = 200'000;
  Options options = Options::of(static_cast<Profile>(state.range(0)));
  options.governor_window = 0;
  options.size_filter_always = false;
  NoRecords records;
  base::Random random(1);
  {
    Encoder encoder(options, 1, pages);
    for (int64_t record = 1; record <= documents; ++record) {
      Bytes strange(400, ' ');
      for (char& byte : strange) byte = static_cast<char>(random());
      encoder.encode({1, record, static_cast<uint64_t>(record)}, strange, records);
    }
    encoder.flush();
  }
  for (auto _ : state) {
    Encoder encoder(options, 1, pages);
    encoder.rebuild();
    state.counters["documents"] = static_cast<double>(encoder.stats().live_entries);
    state.counters["index_bytes"] = static_cast<double>(encoder.stats().index_bytes);
  }
  state.counters["bytes"] = static_cast<double>(pages.bytes()) / documents;
}
BENCHMARK(rebuild)->ArgName("profile")->DenseRange(0, 1)->Unit(benchmark::kMillisecond);

}  // namespace
