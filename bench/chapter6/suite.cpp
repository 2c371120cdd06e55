#include "bench/chapter6/suite.h"

#include <fmt/core.h>

#include <cstdio>
#include <future>

#include "bench/measure/scratch.h"
#include "bench/peers/programs.h"

#include "datasets/replay/progress.h"

namespace bench::chapter6 {

const Workload& Suite::in_file_order(const std::string& name) {
  const auto found = file_order_.find(name);
  if (found != file_order_.end()) return found->second;
  Workload workload = load(name, settings.data).sample(settings.bytes_max);
  say(fmt::format("{}: {} records, {} from {}", name, datasets::replay::grouped(workload.records.size()),
                  datasets::replay::bytes_text(static_cast<double>(workload.bytes())), workload.source));
  report.about.emplace_back(name,
                            fmt::format("{}, {} records, {}", workload.source, datasets::replay::grouped(workload.records.size()),
                                        datasets::replay::bytes_text(static_cast<double>(workload.bytes()))));
  return file_order_.emplace(name, std::move(workload)).first->second;
}

const Workload& Suite::by_time(const std::string& name) {
  const auto found = by_time_.find(name);
  if (found != by_time_.end()) return found->second;
  return by_time_.emplace(name, in_file_order(name).by_time()).first->second;
}

const Workload& Suite::tuning(const std::string& name) {
  const auto found = tuning_.find(name);
  if (found != tuning_.end()) return found->second;
  return tuning_.emplace(name, by_time(name).sample(settings.tuning_bytes_max)).first->second;
}

const StoredSizes& Suite::stored(const std::string& name, Order order, const StoredOptions& options) {
  const std::string what =
      fmt::format("{}, {}, {}", name, options.dedup ? options.profile + (options.version_keys ? " with keys" : "") : "no dedup",
                  options.block_compressor);
  const std::string key = what + (order == Order::file ? " file" : " time");
  const auto found = stored_.find(key);
  if (found != stored_.end()) return found->second;
  const Workload& workload = order == Order::file ? in_file_order(name) : by_time(name);
  const StoredSizes sizes = stored_sizes(workload, options, settings.scratch);
  say(fmt::format("{}: {:.2f}x in files, {:.2f}x before blocks, load {:.1f} s, settling {:.1f} s", what, sizes.file_ratio(),
                  sizes.dedup_ratio(), sizes.load_seconds, sizes.settle_seconds));
  return stored_.emplace(key, sizes).first->second;
}

const Suite::Peers& Suite::peers(const Workload& workload) {
  const auto found = peers_.find(workload.name);
  if (found != peers_.end()) return found->second;
  const Scratch folder(settings.scratch);
  Peers sizes;
  auto git = std::async(std::launch::async, [&] { return git_pack(workload, folder.path() + "/pack"); });
  sizes.zstd_19_bytes = zstd_long(workload, 19);
  sizes.git_bytes = git.get();
  auto ratio = [&](uint64_t bytes) {
    return static_cast<double>(workload.bytes()) / static_cast<double>(std::max<uint64_t>(bytes, 1));
  };
  say(fmt::format("{}: git gc --aggressive {:.2f}x, zstd -19 --long=31 {:.2f}x", workload.name, ratio(sizes.git_bytes),
                  ratio(sizes.zstd_19_bytes)));
  return peers_.emplace(workload.name, sizes).first->second;
}

Figure& Suite::figure(const std::string& number, const std::string& title) {
  report.figures.push_back({number, title, {}, {}, {}, {}});
  return report.figures.back();
}

void Suite::say(const std::string& line) const {
  if (settings.quiet) return;
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun_).count();
  std::fprintf(stderr, "bench: %7.1f s  %s\n", seconds, line.c_str());
}

}  // namespace bench::chapter6
