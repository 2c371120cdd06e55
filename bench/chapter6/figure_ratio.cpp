// Figure 6.1 shows compression ratio and index memory, beside exact dedup, block compression, and programs that may take their
// time over the same bytes.
#include <fmt/core.h>

#include <unordered_map>

#include "bench/chapter6/figures.h"
#include "bench/chapter6/replay.h"
#include "bench/data/blocks.h"
#include "bench/data/stored.h"
#include "bench/peers/deltas.h"
#include "bench/peers/programs.h"
#include "dedup/exact_dedup.h"

namespace bench::chapter6 {
namespace {

struct Bars {
  BarChart ratio, memory;
  Table table;
};

double over(uint64_t whole, uint64_t part) {
  return part ? static_cast<double>(whole) / static_cast<double>(part) : 0;
}
std::string ratio_text(double ratio) {
  return ratio > 0 ? number_text(ratio) + "x" : "-";
}

// Measures one method: its ratio alone, with blocks compressed by snappy and by zstd, and its index.
void add(Bars& bars, const std::string& name, double alone, double snappy, double zstd, uint64_t index_bytes, size_t records) {
  bars.ratio.bars.push_back({name, std::max(alone, snappy), snappy > alone ? alone : 0, {}});
  const double a_record = records ? static_cast<double>(index_bytes) / static_cast<double>(records) : 0;
  if (index_bytes)
    bars.memory.bars.push_back(
        {name, static_cast<double>(index_bytes) / 1e6, 0,
         fmt::format("{} MB, {:.0f} B a record", number_text(static_cast<double>(index_bytes) / 1e6), a_record)});
  bars.table.rows.push_back(
      {name, ratio_text(alone), ratio_text(snappy), ratio_text(zstd), index_bytes ? fmt::format("{:.1f}", a_record) : "-"});
}

struct Measured {
  double alone, snappy, index_bytes;
};

Measured add_encoder(Bars& bars, const std::string& name, const Workload& workload, const Options& options) {
  Replay replay(options);
  replay.run(workload);
  const MemoryRecords& records = replay.records();
  const double alone = replay.ratio(), snappy = replay.over(records.block_bytes(MemoryRecords::Block::snappy));
  const auto stats = replay.stats();
  add(bars, name, alone, snappy, replay.over(records.block_bytes(MemoryRecords::Block::zstd)), stats.index_live_bytes,
      workload.records.size());
  return {alone, snappy, static_cast<double>(stats.index_live_bytes)};
}

Measured add_exact(Bars& bars, const std::string& name, const Workload& workload, uint32_t chunk_bytes) {
  dedup::ExactDedup dedup(chunk_bytes);
  BlockCompressor snappy(BlockCompressor::Method::snappy, 32 << 10), zstd(BlockCompressor::Method::zstd, 32 << 10);
  for (const Record& record : workload.records) {
    const BytesView recipe = dedup.add(record.document);
    snappy.add(recipe);
    zstd.add(recipe);
  }
  const uint64_t bytes = workload.bytes();
  const double alone = over(bytes, dedup.stats().stored_bytes), with_snappy = over(bytes, snappy.finish());
  add(bars, name, alone, with_snappy, over(bytes, zstd.finish()), dedup.index_bytes(), workload.records.size());
  return {alone, with_snappy, static_cast<double>(dedup.index_bytes())};
}

void add_blocks(Bars& bars, const Workload& workload) {
  for (const auto& [name, method] :
       {std::pair{"snappy", BlockCompressor::Method::snappy}, {"zstd", BlockCompressor::Method::zstd}}) {
    BlockCompressor blocks(method, 32 << 10);
    for (const Record& record : workload.records) blocks.add(record.document);
    const double ratio = over(workload.bytes(), blocks.finish());
    bars.ratio.bars.push_back({std::string(name) + ", 32 KB blocks", ratio, 0, {}});
    bars.table.rows.push_back({std::string(name) + ", 32 KB blocks", "-",
                               method == BlockCompressor::Method::snappy ? ratio_text(ratio) : "-",
                               method == BlockCompressor::Method::zstd ? ratio_text(ratio) : "-", "-"});
  }
}

// Measures the workload in a data directory, as users get it.
void add_files(Suite& suite, Table& table, const Workload& workload) {
  struct Kind {
    const char* name;
    StoredOptions options;
  };
  const Kind kinds[] = {
      {"thesis, snappy", {.profile = "thesis", .block_compressor = "snappy"}},
      {"thesis, zstd", {.profile = "thesis"}},
      {"balanced, zstd", {.profile = "balanced"}},
      {"archive, zstd", {.profile = "archive"}},
      {"no dedup, snappy", {.dedup = false, .block_compressor = "snappy"}},
      {"no dedup, zstd", {.dedup = false}},
  };
  for (const Kind& kind : kinds) {
    const StoredSizes& sizes = suite.stored(workload.name, Suite::Order::time, kind.options);
    table.rows.push_back({workload.name, kind.name, ratio_text(sizes.dedup_ratio()), ratio_text(sizes.file_ratio()),
                          number_text(static_cast<double>(sizes.file_bytes) / 1e6)});
  }
}

void add_peers(Suite& suite, Table& table, const Workload& workload) {
  const uint64_t bytes = workload.bytes();
  auto row = [&](const std::string& name, uint64_t size) {
    table.rows.push_back({workload.name, name, "-", ratio_text(over(bytes, size)), number_text(static_cast<double>(size) / 1e6)});
  };
  const Suite::Peers& peers = suite.peers(workload);
  row("git gc --aggressive, blobs alone", peers.git_bytes);
  row("zstd -19 --long=31, the whole", peers.zstd_19_bytes);
  row("zstd -3 --long=31, the whole", zstd_long(workload, 3));
  // The true predecessor is given here, so that nothing has to look for it.
  for (const auto& [name, encode] : {std::pair<const char*, DeltaFunction>{"xdelta3 against the predecessor", xdelta3_delta},
                                     {"zstd -3 refPrefix, the predecessor", zstd_delta_3}}) {
    uint64_t size = 0;
    std::unordered_map<uint64_t, const Record*> newest;
    for (const Record& record : workload.records) {
      const Record*& before = newest[record.group];
      size += encode(before ? BytesView(before->document) : BytesView(), record.document).size();
      before = &record;
    }
    row(name, size);
  }
}

}  // namespace

void ratio_and_index_memory(Suite& suite) {
  Table files{"In files, everything included; and other programs on the same bytes", {"", "", "dedup alone", "all", "MB"}, {}};
  std::vector<Bars> all;
  Measured wiki_1k{}, wiki_64{}, wiki_exact_4k{}, wiki_exact_64{};
  for (const char* name : four) {
    const Workload& workload = suite.by_time(name);
    Bars& bars = all.emplace_back();
    bars.ratio.title = std::string(name) + ": compression ratio, dedup alone (dark) and with snappy";
    bars.memory.title = std::string(name) + ": index memory, MB";
    bars.table = {name, {"", "alone", "+ snappy", "+ zstd", "index, B a record"}, {}};
    const Measured k1 = add_encoder(bars, "dbDedup, 1 KB chunks", workload, thesis(1024));
    const Measured b64 = add_encoder(bars, "dbDedup, 64 B chunks", workload, thesis(64));
    const Measured exact_4k = add_exact(bars, "exact dedup, 4 KB chunks", workload, 4096);
    const Measured exact_64 = add_exact(bars, "exact dedup, 64 B chunks", workload, 64);
    add_blocks(bars, workload);
    add_encoder(bars, "balanced", workload, Options::of(Profile::balanced));
    add_encoder(bars, "archive", workload, Options::of(Profile::archive));
    if (std::string(name) == "wiki") wiki_1k = k1, wiki_64 = b64, wiki_exact_4k = exact_4k, wiki_exact_64 = exact_64;
    suite.say(fmt::format("{}: dbDedup 64 B {:.1f}x, exact 64 B {:.1f}x", name, b64.alone, exact_64.alone));
    add_files(suite, files, workload);
    add_peers(suite, files, workload);
  }

  Figure& figure = suite.figure("6.1", "Compression ratio and index memory");
  for (Bars& bars : all) {
    figure.charts.push_back(std::move(bars.ratio));
    figure.charts.push_back(std::move(bars.memory));
    figure.tables.push_back(std::move(bars.table));
  }
  figure.tables.push_back(std::move(files));
  figure.notes.push_back(
      "dbDedup: the thesis's profile; index memory is that of entries in use. Blocks of 32 KB in the order of writing, each "
      "compressed alone. Exact dedup: every unique chunk "
      "indexed, 20 B of SHA-1 and 8 B of place; runs of known chunks cost one reference.");

  auto claim = [&](const std::string& text, bool holds, const std::string& measured) {
    suite.claim({"6.1", text, measured, holds});
  };
  claim("Wikipedia: smaller chunks make dbDedup better (26x at 1 KB, 37x at 64 B)", wiki_64.alone > wiki_1k.alone,
        fmt::format("wiki: {:.1f}x at 1 KB, {:.1f}x at 64 B", wiki_1k.alone, wiki_64.alone));
  claim("Wikipedia: dbDedup at 64 B is 16 times exact dedup at 4 KB (37x, 2.3x), with less index memory",
        wiki_64.alone > 4 * wiki_exact_4k.alone && wiki_64.index_bytes < wiki_exact_4k.index_bytes,
        fmt::format("wiki: {:.1f}x with {:.2f} MB, {:.1f}x with {:.2f} MB", wiki_64.alone, wiki_64.index_bytes / 1e6,
                    wiki_exact_4k.alone, wiki_exact_4k.index_bytes / 1e6));
  claim("Wikipedia: exact dedup at 64 B finds less (15x) and needs an index ten times as large",
        wiki_exact_64.alone < wiki_64.alone && wiki_exact_64.index_bytes > 10 * wiki_64.index_bytes,
        fmt::format("wiki: {:.1f}x with {:.2f} MB", wiki_exact_64.alone, wiki_exact_64.index_bytes / 1e6));
  claim("Wikipedia: 37x alone, 61x with snappy", wiki_64.alone >= 33 && wiki_64.snappy >= 55,
        fmt::format("wiki: {:.1f}x alone, {:.1f}x with snappy", wiki_64.alone, wiki_64.snappy));
}

}  // namespace bench::chapter6
