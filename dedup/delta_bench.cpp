// These benchmarks measure how fast and how small deltas are, beside zstd with the source as its prefix.
// Bytes a second are those of the target. PALIMPSEST_DATASETS=folder adds consecutive revisions of real
// texts.
#include <benchmark/benchmark.h>

#include <zstd.h>
#include <functional>
#include <memory>

#include "base/hash.h"
#include "dedup/decoder.h"
#include "dedup/delta.h"
#include "dedup/delta_dictionary.h"
#include "dedup/delta_pairs.h"
#include "dedup/entropy.h"

namespace {

using namespace dedup;
using bench::Pairs;

size_t bytes_of(const Pairs& pairs) {
  size_t bytes = 0;
  for (const auto& pair : pairs) bytes += pair.target.size();
  return bytes;
}

void report(benchmark::State& state, const Pairs& pairs, size_t delta_bytes) {
  const auto bytes = static_cast<double>(bytes_of(pairs));
  state.SetBytesProcessed(static_cast<int64_t>(bytes) * static_cast<int64_t>(state.iterations()));
  state.counters["ratio"] = bytes / static_cast<double>(delta_bytes);
  state.counters["delta"] = static_cast<double>(delta_bytes) / static_cast<double>(pairs.size());
}

void both_ways(benchmark::State& state, const Pairs& pairs, const DeltaOptions& options) {
  size_t bytes = 0;
  for (auto _ : state) {
    bytes = 0;
    for (const auto& [source, target] : pairs) {
      const auto both = encode_two_way(source, target, options);
      bytes += both ? both->forward.size() : target.size();
    }
  }
  report(state, pairs, bytes);
}

// The older third of the pairs trains the dictionary and the rest is measured: both directions are made, and one or both are
// packed.
void packed(benchmark::State& state, const Pairs& pairs, bool forward_too) {
  DictionaryTrainer trainer(1);
  const size_t third = pairs.size() / 3;
  for (size_t i = 0; i < third; ++i) {
    const auto both = *encode_two_way(pairs[i].source, pairs[i].target);
    trainer.see(both.forward), trainer.see(both.backward);
  }
  EntropyCoder coder;
  const auto dictionary = trainer.train();
  if (!dictionary || coder.add_dictionary(1, *dictionary)) return state.SkipWithError("too little to learn from");
  const Pairs rest(pairs.begin() + static_cast<ptrdiff_t>(third), pairs.end());
  const auto packed_bytes = [&](const Bytes& delta) {
    const auto packed = coder.pack(delta);
    return packed ? packed->size() : delta.size();
  };
  size_t backward = 0, forward = 0;
  for (auto _ : state) {
    backward = forward = 0;
    for (const auto& [source, target] : rest) {
      const auto both = encode_two_way(source, target);
      backward += packed_bytes(both->backward);
      if (forward_too) forward += packed_bytes(both->forward);
    }
  }
  report(state, rest, forward_too ? forward : backward);
}

void unpack(benchmark::State& state, const Pairs& pairs) {
  DictionaryTrainer trainer(1);
  EntropyCoder coder;
  std::vector<std::pair<const bench::Pair*, Bytes>> all;
  for (const auto& pair : pairs) trainer.see(*dedup::encode(pair.source, pair.target));
  const auto dictionary = trainer.train();
  if (!dictionary || coder.add_dictionary(1, *dictionary)) return state.SkipWithError("too little to learn from");
  for (const auto& pair : pairs)
    if (auto packed = coder.pack(*dedup::encode(pair.source, pair.target))) all.emplace_back(&pair, std::move(*packed));
  size_t bytes = 0;
  for (const auto& [pair, packed] : all) bytes += pair->target.size();
  for (auto _ : state)
    for (const auto& [pair, packed] : all)
      benchmark::DoNotOptimize(dedup::apply(pair->source, coder.unpack(packed, 64 << 20).value()));
  state.SetBytesProcessed(static_cast<int64_t>(bytes) * static_cast<int64_t>(state.iterations()));
}

// The delta is applied into a buffer that is used again, as zstd's is below.
void decode_hop(benchmark::State& state, const Pairs& pairs) {
  std::vector<Bytes> deltas;
  for (const auto& [source, target] : pairs) deltas.push_back(*dedup::encode(source, target));
  Bytes out;
  for (auto _ : state)
    for (size_t i = 0; i < pairs.size(); ++i) benchmark::DoNotOptimize(apply_to(out, pairs[i].source, deltas[i]));
  state.SetBytesProcessed(static_cast<int64_t>(bytes_of(pairs)) * static_cast<int64_t>(state.iterations()));
}

// zstd makes one direction only, as one pass of it gives no other.
void zstd_prefix(benchmark::State& state, const Pairs& pairs, int level) {
  const std::unique_ptr<ZSTD_CCtx, size_t (*)(ZSTD_CCtx*)> context(ZSTD_createCCtx(), ZSTD_freeCCtx);
  size_t bytes = 0;
  Bytes out;
  for (auto _ : state) {
    bytes = 0;
    for (const auto& [source, target] : pairs) {
      out.resize(ZSTD_compressBound(target.size()));
      ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, level);
      ZSTD_CCtx_setParameter(context.get(), ZSTD_c_windowLog, std::bit_width(source.size() + target.size()));
      ZSTD_CCtx_refPrefix(context.get(), source.data(), source.size());
      bytes += ZSTD_compress2(context.get(), out.data(), out.size(), target.data(), target.size());
    }
  }
  report(state, pairs, bytes);
}

void unprefix(benchmark::State& state, const Pairs& pairs) {
  const std::unique_ptr<ZSTD_CCtx, size_t (*)(ZSTD_CCtx*)> packer(ZSTD_createCCtx(), ZSTD_freeCCtx);
  const std::unique_ptr<ZSTD_DCtx, size_t (*)(ZSTD_DCtx*)> context(ZSTD_createDCtx(), ZSTD_freeDCtx);
  std::vector<Bytes> packed;
  for (const auto& [source, target] : pairs) {
    Bytes out(ZSTD_compressBound(target.size()), '\0');
    ZSTD_CCtx_refPrefix(packer.get(), source.data(), source.size());
    out.resize(ZSTD_compress2(packer.get(), out.data(), out.size(), target.data(), target.size()));
    packed.push_back(out);
  }
  Bytes out;
  for (auto _ : state)
    for (size_t i = 0; i < pairs.size(); ++i) {
      out.resize(pairs[i].target.size());
      ZSTD_DCtx_refPrefix(context.get(), pairs[i].source.data(), pairs[i].source.size());
      benchmark::DoNotOptimize(ZSTD_decompressDCtx(context.get(), out.data(), out.size(), packed[i].data(), packed[i].size()));
    }
  state.SetBytesProcessed(static_cast<int64_t>(bytes_of(pairs)) * static_cast<int64_t>(state.iterations()));
}

const Pairs& pairs_of(const std::string& name) {
  static const auto made_up = bench::made_up_pairs();
  if (const auto found = made_up.find(name); found != made_up.end()) return found->second;
  static const auto real = bench::real_pairs();
  return real.at(name);
}

// Pairs are made one at a time, because they are large.
const Pairs& hostile(const std::string& name) {
  static std::string last;
  static Pairs pairs;
  if (name != last) pairs = {bench::hostile_pair(name)}, last = name;
  return pairs;
}

void add(const std::string& name, const std::function<void(benchmark::State&)>& body) {
  benchmark::RegisterBenchmark(name.c_str(), body);
}

const bool registered = [] {
  std::vector<std::string> names;
  for (const char* kind : {"prose", "json", "wiki", "versions"})
    for (const char* size : {"_1k", "_4k", "_16k", "_64k"}) {
      const std::string name = std::string(kind) + size;
      const bool real = name[0] == 'w' || name[0] == 'v';
      if (real && (!std::getenv("PALIMPSEST_DATASETS") || name == "versions_64k")) continue;
      names.push_back(name);
    }
  for (const auto& name : names) {
    add("delta/" + name, [=](auto& state) { both_ways(state, pairs_of(name), {}); });
    for (const uint32_t interval : {16u, 32u, 64u, 128u})
      add("anchors_" + std::to_string(interval) + "/" + name,
          [=](auto& state) { both_ways(state, pairs_of(name), {.method = DeltaMethod::anchors, .anchor_interval = interval}); });
    for (const int level : {1, 3})
      add("zstd_prefix_" + std::to_string(level) + "/" + name, [=](auto& state) { zstd_prefix(state, pairs_of(name), level); });
    add("packed_backward/" + name, [=](auto& state) { packed(state, pairs_of(name), false); });
    add("packed_forward_too/" + name, [=](auto& state) { packed(state, pairs_of(name), true); });
    add("unpack_apply/" + name, [=](auto& state) { unpack(state, pairs_of(name)); });
    add("apply/" + name, [=](auto& state) { decode_hop(state, pairs_of(name)); });
    add("zstd_prefix_apply/" + name, [=](auto& state) { unprefix(state, pairs_of(name)); });
  }
  for (const std::string name : bench::hostile_names) {
    add("hostile/" + name, [=](auto& state) { both_ways(state, hostile(name), {}); });
    add("hostile_anchors_64/" + name, [=](auto& state) { both_ways(state, hostile(name), {.method = DeltaMethod::anchors}); });
    add("hostile_zstd_prefix_1/" + name, [=](auto& state) { zstd_prefix(state, hostile(name), 1); });
  }
  return true;
}();

}  // namespace
