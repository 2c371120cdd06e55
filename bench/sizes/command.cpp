#include "bench/sizes/command.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <iostream>
#include <map>
#include <memory>

#include "bench/data/stored.h"
#include "bench/measure/scratch.h"
#include "bench/options.h"
#include "bench/peers/programs.h"
#include "bench/sizes/deltas.h"
#include "datasets/replay/data_directory.h"

namespace bench::sizes {
namespace {

constexpr const char* revised = "revised";  // pages of the wiki with 20 revisions or more
constexpr size_t revised_revisions_min = 20;
constexpr uint64_t revised_bytes_max = 64ull << 20;

struct Arguments {
  std::vector<std::string> sets{"versions", revised, "mail", "boards", "wiki"};
  std::vector<std::string> profiles{"balanced", "archive"};
  std::string data, scratch, report_folder;
  bool peers = true, synthetic = false, deltas = false;
  uint64_t bytes_max = UINT64_MAX;
};

Workload load_set(const std::string& name, const Arguments& arguments) {
  WorkloadOptions from;
  if (!arguments.synthetic) from.data = arguments.data.empty() ? find_data() : arguments.data;
  Workload workload = load(name == revised ? "wiki" : name, from);
  if (name == revised) workload = workload.histories(revised_revisions_min).sample(revised_bytes_max);
  return workload.sample(arguments.bytes_max);
}

// "packed-17.wt" counts with all that begin with "packed"; WiredTiger's own files count as one.
std::string kind_of(const std::string& file) {
  if (file.starts_with("WiredTigerHS")) return "history";
  if (file.starts_with("WiredTiger")) return "engine";
  for (const char* kind : {"records", "packed", "chains", "heads", "index", "pages", "feature_metadata"}) {
    if (file.starts_with(kind)) return kind;
  }
  return "rest";
}

const std::vector<std::string> kinds{"packed",           "chains", "records", "heads",   "index",
                                     "feature_metadata", "pages",  "engine",  "history", "rest"};

std::string kb(uint64_t bytes) {
  return fmt::format("{:.0f}", static_cast<double>(bytes) / 1e3);
}
std::string times(uint64_t whole, uint64_t part) {
  return part ? fmt::format("{:.2f}", static_cast<double>(whole) / static_cast<double>(part)) : "";
}

struct Tables {
  Table whole{"Whole, KB", {"set", "as", "bytes", "ratio", "git over it", "zstd -19 over it", "CPU s"}, {}};
  Table files{"Files, KB", {"set"}, {}};
};

std::string listed(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, " "));
}

void measure(const Workload& workload, const std::string& profile, uint64_t git, uint64_t zstd, const Arguments& arguments,
             Tables& tables) {
  const Scratch folder(arguments.scratch);
  const clock_t begun = clock();
  Stored stored(folder.path(), {.profile = profile, .version_keys = true});
  stored.load(workload);
  stored.settle();
  const double seconds = static_cast<double>(clock() - begun) / CLOCKS_PER_SEC;
  const StoredSizes sizes = stored.sizes();
  std::map<std::string, uint64_t> by_kind;
  for (const auto& file : datasets::replay::measure(folder.path()).files) by_kind[kind_of(file.name)] += file.bytes;
  tables.whole.rows.push_back({workload.name, profile, kb(sizes.file_bytes), times(workload.bytes(), sizes.file_bytes),
                               times(git, sizes.file_bytes), times(zstd, sizes.file_bytes), fmt::format("{:.0f}", seconds)});
  std::vector<std::string> row{workload.name + ", " + profile};
  for (const std::string& kind : kinds) row.push_back(kb(by_kind[kind]));
  tables.files.rows.push_back(row);
}

int run(const Arguments& arguments) {
  Report report;
  Tables tables;
  Table deltas = deltas_table();
  tables.files.columns.insert(tables.files.columns.end(), kinds.begin(), kinds.end());
  for (const std::string& name : arguments.sets) {
    Workload workload = load_set(name, arguments);
    workload.name = name;
    const uint64_t bytes = workload.bytes();
    report.about.emplace_back(name, fmt::format("{}, {} records, {} KB", workload.source, workload.records.size(), kb(bytes)));
    if (arguments.deltas) {
      add_deltas(workload, deltas);
      continue;
    }
    uint64_t git = 0, zstd = 0;
    if (arguments.peers) {
      const Scratch folder(arguments.scratch);
      git = git_pack(workload, folder.path() + "/git");
      zstd = zstd_long(workload, 19);
      tables.whole.rows.push_back({name, "git gc --aggressive, blobs", kb(git), times(bytes, git), "", "", ""});
      tables.whole.rows.push_back({name, "zstd -19 --long=31", kb(zstd), times(bytes, zstd), "", "", ""});
    }
    for (const std::string& profile : arguments.profiles) {
      std::cerr << name << ", " << profile << "\n";
      measure(workload, profile, git, zstd, arguments, tables);
    }
  }
  report.title = "Bytes of data directories";
  report.command =
      fmt::format("palimpsest bench sizes --set {} --profile {}", listed(arguments.sets), listed(arguments.profiles));
  Figure figure{
      "sizes", "Every file but journal and log, after dedup, packing and compaction", {}, {}, {tables.whole, tables.files}, {}};
  figure.notes.push_back("Versions declared, as `palimpsest replay` does; file order. " + std::string(revised) +
                         ": pages of the wiki with 20 revisions or more.");
  if (arguments.deltas) figure = {"deltas", "Deltas packed one by one, and in pages", {}, {}, {deltas}, {}};
  report.figures.push_back(std::move(figure));
  publish(report, arguments.report_folder);
  return 0;
}

}  // namespace

Run add_options(CLI::App& parser) {
  auto arguments = std::make_shared<Arguments>();
  parser.add_option("--set", arguments->sets, "the data sets to store")
      ->capture_default_str()
      ->check(CLI::IsMember({"wiki", "mail", "stackexchange", "boards", "versions", revised}));
  parser.add_option("--profile", arguments->profiles, "the profiles to store them with")
      ->capture_default_str()
      ->check(CLI::IsMember({"balanced", "archive", "thesis"}));
  parser.add_flag("!--no-peers", arguments->peers, "don't measure git and zstd");
  parser.add_flag("--deltas", arguments->deltas, "measure only deltas, packed one by one and in pages");
  parser.add_option("--data", arguments->data, "the folder with the data sets (default: shared/datasets above)");
  parser.add_flag("--synthetic", arguments->synthetic, "use made-up data, even where there is real data");
  parser.add_option_function<uint64_t>(
      "--sample-mb", [arguments](const uint64_t& mb) { arguments->bytes_max = mb << 20; },
      "no more of each set, in whole histories");
  add_scratch(parser, arguments->scratch);
  add_report(parser, arguments->report_folder);
  return [arguments] { return run(*arguments); };
}

}  // namespace bench::sizes
