#include "bench/sizes/deltas.h"

#include <fmt/core.h>
#include <zstd.h>

#include <map>

#include "bench/chapter6/pairs.h"
#include "dedup/delta.h"
#include "dedup/delta_dictionary.h"
#include "dedup/entropy.h"

namespace bench::sizes {
namespace {

constexpr size_t page_bytes = 512 << 10;  // bytes before compression: what a page of 128 KB on disk may hold
constexpr int page_level = 12;

size_t zstd_bytes(BytesView page) {
  Bytes out(ZSTD_compressBound(page.size()), '\0');
  return ZSTD_compress(out.data(), out.size(), page.data(), page.size(), page_level);
}

uint64_t in_pages(const std::vector<Bytes>& deltas) {
  uint64_t bytes = 0;
  Bytes page;
  for (size_t i = 0; i < deltas.size(); ++i) {
    page += deltas[i];
    if (page.size() < page_bytes && i + 1 < deltas.size()) continue;
    bytes += zstd_bytes(page);
    page.clear();
  }
  return bytes;
}

uint64_t sum(const std::vector<Bytes>& all) {
  uint64_t bytes = 0;
  for (const Bytes& one : all) bytes += one.size();
  return bytes;
}

}  // namespace

Table deltas_table() {
  return {"Deltas of each version against the next, KB",
          {"set", "deltas", "plain", "each packed", "plain, in pages", "packed, in pages"},
          {}};
}

void add_deltas(const Workload& workload, Table& table) {
  const auto before = chapter6::predecessors(workload);
  // They go by chain, as they are stored.
  std::map<std::pair<uint32_t, uint64_t>, std::vector<Bytes>> chains;
  dedup::DictionaryTrainer trainer(1);
  for (size_t i = 0; i < workload.records.size(); ++i) {
    if (before[i] < 0) continue;
    const Record& newer = workload.records[i];
    auto delta = dedup::encode(newer.document, workload.records[static_cast<size_t>(before[i])].document);
    if (!delta) continue;
    trainer.see(*delta);
    chains[{newer.collection, newer.group}].push_back(std::move(*delta));
  }
  dedup::EntropyCoder coder;
  if (const auto dictionary = trainer.train()) coder.add_dictionary(1, *dictionary);
  std::vector<Bytes> plain, packed;
  for (auto& [name, chain] : chains) {
    for (Bytes& delta : chain) {
      packed.push_back(coder.pack(delta).value_or(delta));
      plain.push_back(std::move(delta));
    }
  }
  const auto kb = [](uint64_t bytes) { return fmt::format("{:.0f}", static_cast<double>(bytes) / 1e3); };
  table.rows.push_back(
      {workload.name, std::to_string(plain.size()), kb(sum(plain)), kb(sum(packed)), kb(in_pages(plain)), kb(in_pages(packed))});
}

}  // namespace bench::sizes
