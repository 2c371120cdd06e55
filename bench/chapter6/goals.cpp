// These are the figures to reach, except for those of a server under load (figure_server.cpp) and of a restart
// (figure_recovery.cpp).
#include <fmt/core.h>

#include <algorithm>

#include "base/random.h"
#include "bench/chapter6/figures.h"
#include "bench/chapter6/pairs.h"
#include "bench/chapter6/replay.h"
#include "bench/measure/cpu_clock.h"
#include "bench/measure/scratch.h"
#include "bench/peers/deltas.h"
#include "bson/path.h"
#include "datasets/synthetic/text.h"
#include "dedup/delta_dictionary.h"
#include "dedup/entropy.h"
#include "dedup/sketch.h"
#include "storage/background/dedup_service.h"

namespace bench::chapter6 {
namespace {

double ratio(uint64_t whole, uint64_t part) {
  return part ? static_cast<double>(whole) / static_cast<double>(part) : 0;
}
double mb(uint64_t bytes) {
  return static_cast<double>(bytes) / 1e6;
}

void history_goals(Suite& suite, const Workload& workload, const StoredSizes& balanced, const StoredSizes& archive) {
  const Suite::Peers& peers = suite.peers(workload);
  suite.goal({"git gc --aggressive over files, balanced, " + workload.name, "x", ratio(peers.git_bytes, balanced.file_bytes), 1.5,
              false,
              fmt::format("{:.2f} MB of blobs in git's pack ({:.1f}x), {:.2f} MB in files ({:.1f}x)", mb(peers.git_bytes),
                          ratio(workload.bytes(), peers.git_bytes), mb(balanced.file_bytes), balanced.file_ratio())});
  suite.goal({"archive's ratio over zstd -19 --long=31, " + workload.name, "%",
              ratio(peers.zstd_19_bytes, archive.file_bytes) * 100, 85, false,
              fmt::format("{:.1f}x in files, zstd {:.1f}x", archive.file_ratio(), ratio(workload.bytes(), peers.zstd_19_bytes))});
}

// Makes documents that are slow to encode, with those that they are compared with.
std::vector<std::pair<std::string, std::pair<Bytes, Bytes>>> adversaries(size_t bytes) {
  base::Random random(1);
  auto noise = [&] {
    Bytes out(bytes, '\0');
    for (char& c : out) c = static_cast<char>(random());
    return out;
  };
  datasets::TextMaker maker(2);
  const Bytes text = maker.text(bytes);
  auto permuted = [&](const Bytes& of, size_t block_bytes) {
    std::vector<size_t> blocks(bytes / block_bytes);
    for (size_t i = 0; i < blocks.size(); ++i) blocks[i] = i;
    for (size_t i = blocks.size(); i > 1; --i) std::swap(blocks[i - 1], blocks[random.below(i)]);
    Bytes out;
    for (const size_t block : blocks) out.append(of, block * block_bytes, block_bytes);
    return out;
  };
  auto swapped = [&](const Bytes& of, size_t block_bytes) {
    Bytes out;
    for (size_t i = 0; i + 2 * block_bytes <= bytes; i += 2 * block_bytes)
      out.append(of, i + block_bytes, block_bytes).append(of, i, block_bytes);
    return out;
  };
  Bytes pieces;  // of a source that is much larger
  while (pieces.size() < bytes / 16) pieces.append(text, random.below(bytes - 256), 256);
  Bytes twelfth = text;
  for (size_t i = 0; i < bytes; i += 12) twelfth[i] = '#';
  const Bytes strange = noise();
  return {{"unrelated", {strange, noise()}},
          {"blocks of 16 permuted", {text, permuted(text, 16)}},
          {"blocks of 32 permuted", {strange, permuted(strange, 32)}},
          {"blocks of 16 swapped", {strange, swapped(strange, 16)}},
          {"blocks of 64 swapped", {text, swapped(text, 64)}},
          {"every 12th byte changed", {text, twelfth}},
          {"a sixteenth, in pieces", {text, pieces}},
          {"one byte repeated", {Bytes(bytes, 'a'), Bytes(bytes, 'b')}}};
}

}  // namespace

void size_goals(Suite& suite) {
  const StoredOptions balanced{.version_keys = true}, archive{.profile = "archive", .version_keys = true};
  auto files = [&](const char* name, const StoredOptions& options) -> const StoredSizes& {
    return suite.stored(name, Suite::Order::file, options);
  };
  auto note = [](const StoredSizes& sizes) {
    return fmt::format("{:.1f} MB in {:.2f} MB of files, {:.2f}x before blocks", mb(sizes.logical_bytes), mb(sizes.file_bytes),
                       sizes.dedup_ratio());
  };

  history_goals(suite, suite.in_file_order("versions"), files("versions", balanced), files("versions", archive));
  // Takes pages of the wiki that were revised often, with half as many records as a figure that is run many times.
  Workload revised = suite.in_file_order("wiki").histories(20).sample(suite.settings.tuning_bytes_max / 2);
  revised.name = "often revised pages of the wiki";
  if (!revised.records.empty()) {
    history_goals(suite, revised, stored_sizes(revised, balanced, suite.settings.scratch),
                  stored_sizes(revised, archive, suite.settings.scratch));
  }
  for (const std::string& repository : suite.settings.histories) {
    const Workload history = load_history(repository);
    history_goals(suite, history, stored_sizes(history, balanced, suite.settings.scratch),
                  stored_sizes(history, archive, suite.settings.scratch));
  }
  suite.goal({"wiki in files, balanced", "x", files("wiki", balanced).file_ratio(), 28, false,
              note(files("wiki", balanced)) + "; as `palimpsest replay` loads it, versions declared"});
  suite.goal({"wiki in files, archive", "x", files("wiki", archive).file_ratio(), 33, false, note(files("wiki", archive))});
  suite.goal({"mail in files, balanced", "x", files("mail", balanced).file_ratio(), 4.2, false, note(files("mail", balanced))});
  suite.goal(
      {"forum in files, balanced", "x", files("boards", balanced).file_ratio(), 3.2, false, note(files("boards", balanced))});
}

// Measures each record with a predecessor: the bytes of its delta against the chosen source and against the predecessor, and the
// index that finds the source.
void detection_goals(Suite& suite) {
  for (const char* name : {"wiki", "stackexchange", "versions"}) {
    const Workload& workload = suite.by_time(name);
    const auto before = predecessors(workload);
    Replay replay(Options::of(Profile::balanced));
    uint64_t chosen = 0, true_predecessor = 0, records = 0;
    for (size_t i = 0; i < workload.records.size(); ++i) {
      const BytesView content = workload.records[i].document;
      const Encoding& encoding = replay.step(workload.records[i]);
      if (before[i] < 0) continue;
      const BytesView predecessor = workload.records[static_cast<size_t>(before[i])].document;
      const auto delta = dedup::encode(predecessor, content);
      const size_t best = delta ? std::min(delta->size(), content.size()) : content.size();
      if (best * 2 > content.size()) continue;  // it isn't a version of it
      ++records;
      true_predecessor += best;
      chosen += encoding.source ? encoding.forward.size() : content.size();
    }
    suite.goal({fmt::format("delta size over the true predecessor's, {}", name), "x", ratio(chosen, true_predecessor), 1.10, true,
                fmt::format("{} records; no versions declared; what found no source counts whole", records)});
    const auto stats = replay.stats();
    suite.goal({fmt::format("index memory a record, live, {}", name), "B", ratio(stats.index_live_bytes, stats.index_records), 12,
                true,
                fmt::format("{:.3f} MB of entries in use for {} records; the table has {:.3f} MB", mb(stats.index_live_bytes),
                            stats.index_records, mb(stats.index_bytes))});
    if (std::string(name) != "wiki") continue;
    suite.goal({"whole pipeline, one thread", "GB/s",
                static_cast<double>(replay.content_bytes()) / 1e9 / replay.encode_cpu_seconds(), 0.8, false,
                fmt::format("{:.1f} MB of the wiki in {:.2f} CPU s: sketch, lookup, sources, deltas both ways",
                            mb(replay.content_bytes()), replay.encode_cpu_seconds())});
  }
}

namespace {

// The stored form is packed with a dictionary trained on every second pair, and measured on the others.
void entropy_goals(Suite& suite, const std::vector<Pair>& all) {
  dedup::DictionaryTrainer trainer(1);
  std::vector<Pair> measured;
  for (size_t i = 0; i < all.size(); ++i) {
    if (i % 2)
      measured.push_back(all[i]);
    else if (const auto both = dedup::encode_two_way(all[i].before, all[i].after))
      trainer.see(both->backward);
  }
  dedup::EntropyCoder coder;
  const auto dictionary = trainer.train();
  if (dictionary) base::check(!coder.add_dictionary(1, *dictionary), "a trained dictionary is one");
  uint64_t packed_bytes = 0;
  const double seconds = least_cpu_seconds(5, [&] {
    packed_bytes = 0;
    for (const Pair& pair : measured) {
      const auto both = dedup::encode_two_way(pair.before, pair.after);
      if (!both) {
        packed_bytes += pair.before.size();
        continue;
      }
      const auto packed = coder.pack(both->backward);
      packed_bytes += packed ? packed->size() : both->backward.size();
    }
  });
  uint64_t bytes = 0;
  for (const Pair& pair : measured) bytes += pair.before.size();
  const std::string note = fmt::format("{} pairs, dictionary of {} B trained on {} others", measured.size(),
                                       dictionary ? dictionary->size() : 0, trainer.seen());
  suite.goal({"delta encode, both ways, and packing the stored form", "GB/s", static_cast<double>(bytes) / 1e9 / seconds, 1.2,
              false, note});
  suite.goal({"ratio of the packed form", "x", ratio(bytes, packed_bytes), 70, false, note});
}

}  // namespace

void speed_goals(Suite& suite) {
  constexpr int rounds = 5;
  const Workload& workload = suite.tuning("wiki");
  {
    const dedup::Sketcher sketcher(Options::of(Profile::balanced), 1);
    uint64_t features = 0;
    const double seconds = least_cpu_seconds(rounds, [&] {
      for (const Record& record : workload.records) features += sketcher.sketch(0, record.document).size();
    });
    suite.goal({"sketch", "GB/s", static_cast<double>(workload.bytes()) / 1e9 / seconds, 1.8, false,
                fmt::format("wiki, {} features", features / rounds)});
  }
  auto some = pairs(workload, 8 << 10, 32 << 10, 1500);
  if (some.empty()) some = pairs(workload, 256, 1 << 20, 1500);
  const auto bytes = static_cast<double>(bytes_of(some));
  std::vector<Bytes> deltas;
  const double encode_seconds = least_cpu_seconds(rounds, [&] {
    deltas.clear();
    for (const Pair& pair : some) {
      auto both = dedup::encode_two_way(pair.before, pair.after);
      deltas.push_back(both ? std::move(both->forward) : Bytes());
    }
  });
  uint64_t delta_bytes = 0;
  std::vector<std::pair<BytesView, BytesView>> decodable;
  uint64_t decoded_bytes = 0;
  for (size_t i = 0; i < some.size(); ++i) {
    delta_bytes += deltas[i].empty() ? some[i].after.size() : deltas[i].size();
    if (deltas[i].empty()) continue;
    decodable.emplace_back(some[i].before, deltas[i]);
    decoded_bytes += some[i].after.size();
  }
  auto peer = [&](DeltaFunction encode) {
    uint64_t size = 0;
    const double seconds = least_cpu_seconds(3, [&] {
      size = 0;
      for (const Pair& pair : some) size += encode(pair.before, pair.after).size();
    });
    return fmt::format("{:.2f} GB/s {:.0f}x", bytes / 1e9 / seconds, bytes / static_cast<double>(size));
  };
  suite.goal({"delta encode, both ways, prose of 8 to 32 KB", "GB/s", bytes / 1e9 / encode_seconds, 2.0, false,
              fmt::format("{:.0f}x forward; zstd refPrefix 1 {}, 3 {}; xdelta3 {}", bytes / static_cast<double>(delta_bytes),
                          peer(zstd_delta_1), peer(zstd_delta_3), peer(xdelta3_delta))});
  entropy_goals(suite, some);
  double slowest = 1e300;
  std::string what;
  const size_t adversary_bytes = std::min<uint64_t>(16 << 20, suite.settings.tuning_bytes_max);
  for (const auto& [name, pair] : adversaries(adversary_bytes)) {
    // This asks as the encoder does: a delta that would not be kept is not written.
    const dedup::DeltaOptions options{.backward_bytes_max = pair.first.size() / 4};
    const double seconds = least_cpu_seconds(2, [&] { (void)dedup::encode_two_way(pair.first, pair.second, options); });
    const double rate = static_cast<double>(pair.second.size()) / 1e6 / seconds;
    what += fmt::format("{}{} {:.0f}", what.empty() ? "" : ", ", name, rate);
    slowest = std::min(slowest, rate);
  }
  suite.goal({"delta encode of hostile documents, the slowest", "MB/s", slowest, 100, false,
              fmt::format("{} MB: {}", adversary_bytes >> 20, what)});
  uint64_t check = 0;
  const double decode_seconds = least_cpu_seconds(rounds, [&] {
    for (const auto& [source, delta] : decodable) check += dedup::apply(source, delta).value().size();
  });
  suite.goal({"decode of one hop", "GB/s", static_cast<double>(decoded_bytes) / 1e9 / decode_seconds, 10, false,
              fmt::format("the same {} pairs", decodable.size())});
}

namespace {

// Makes a document of 64 KB and its versions, each with a few edits.
Workload versions_of_64_kb(size_t versions) {
  datasets::TextMaker maker(1);
  base::Random& random = maker.random();
  std::string text = maker.text(64 << 10);
  Workload workload{"document", "synthetic", false, {"versions"}, {}};
  for (size_t i = 0; i < versions; ++i) {
    for (uint64_t edits = 1 + random.below(4); edits > 0; --edits)
      text.replace(random.below(text.size() - 100), 1 + random.below(80), maker.text(1 + random.below(80)));
    text.resize(64 << 10, '.');
    bson::Builder document;
    document.append("_id", static_cast<int64_t>(i)).append("text", text);
    workload.records.push_back({Bytes(document.done().bytes()), 0, 1, static_cast<int64_t>(i), 0});
  }
  return workload;
}

struct Read {
  double micros;
  uint32_t hops;
};

Read read(Stored& stored, const std::vector<storage::RecordId>& ids, size_t version) {
  storage::Collection& collection = *stored.collections().front();
  storage::Transaction transaction(stored.store(), storage::Transaction::Mode::read);
  storage::ReadInfo info;
  const CpuWatch watch;
  const auto document = collection.find(transaction, ids[version], &info);
  const double micros = watch.seconds() * 1e6;
  base::check(document.has_value(), "a version is there");
  return {micros, info.hops};
}

uint64_t blocks_read(Stored& stored) {
  bson::Builder out;
  stored.store().engine().append_stats(out);
  const bson::Document stats = out.done();
  const bson::Element manager = stats.find("block-manager");
  return manager.exists() ? static_cast<uint64_t>(manager.as_document()["blocks read"].to_int64()) : 0;
}

}  // namespace

void read_goals(Suite& suite) {
  const size_t versions = suite.settings.bytes_max < (8 << 20) ? 40 : 500;
  const Workload workload = versions_of_64_kb(versions);
  const Scratch folder(suite.settings.scratch);
  Stored stored(folder.path(), {.cache_bytes = 256 << 20});
  stored.load(workload);
  stored.settle();
  std::vector<storage::RecordId> ids;
  {
    storage::Transaction transaction(stored.store(), storage::Transaction::Mode::read);
    for (const auto scan = stored.collections().front()->scan(transaction, storage::Direction::forward); scan->next();)
      ids.push_back(scan->record());
  }
  base::check(ids.size() == versions, "every version is there");
  std::vector<double> micros, best;  // times of every read but the first of a version; of each version
  uint32_t hops_max = 0, latest_hops = 0;
  for (size_t version = 0; version < versions; ++version) {
    double least = 1e300;
    for (int round = 0; round < 4; ++round) {
      const Read one = read(stored, ids, version);
      if (round > 0) micros.push_back(one.micros), least = std::min(least, one.micros);
      hops_max = std::max(hops_max, one.hops);
      if (version + 1 == versions) latest_hops = one.hops;
    }
    best.push_back(least);
  }
  std::sort(micros.begin(), micros.end());
  std::sort(best.begin(), best.end());
  const double p99 = micros[micros.size() * 99 / 100], best_p99 = best[best.size() * 99 / 100];

  uint64_t cold = 0;
  const size_t samples = std::min<size_t>(versions, 12);
  for (size_t i = 0; i < samples; ++i) {
    stored.reopen();
    read(stored, ids, versions - 1);  // the upper pages of the tables
    const uint64_t before = blocks_read(stored);
    read(stored, ids, i * (versions - 1) / samples);
    cold = std::max(cold, blocks_read(stored) - before);
  }
  const std::string of = fmt::format("{} versions of a document of 64 KB, CPU time of the reading thread", versions);
  suite.goal({"read the latest version, warm: hops", "hops", static_cast<double>(latest_hops), 0, true, of});
  suite.goal({"read any version, warm: p99", "µs", p99, 60, true,
              fmt::format("{}; at most {} hops; {:.0f} of the best of three reads of each", of, hops_max, best_p99)});
  suite.goal(
      {"read any version, warm: worst", "µs", best.back(), 250, true, "the slowest version, the best of three reads of each"});
  suite.goal({"read any version, cold: blocks read from disk", "blocks", static_cast<double>(cold), 2, true,
              fmt::format("at most, of {} versions, each after the directory was opened again", samples)});
}

}  // namespace bench::chapter6
