// Figures 21 and 22 have the indexes in the engine's tables, where the paper has Forkbase, and git, where it has Noms.
#include <fmt/core.h>
#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "bench/measure/cpu_clock.h"
#include "bench/merkle/figures.h"
#include "bench/peers/programs.h"
#include "datasets/input/subprocess.h"
#include "storage/engine/engine.h"

namespace bench::merkle {
namespace {

constexpr size_t cache_bytes = 32 << 20;  // of decoded nodes, as the server has it
constexpr size_t batch_records = 4'000;

struct Speeds {
  double load = 0, reads = 0, writes = 0, mb = 0;
  // Counts of reads: nodes asked for, and those of them that were in the cache.
  double nodes = 0, hits = 0;
};

// Counts nodes that weren't in memory, each once, whatever its delta is based on.
class CountingNodes : public siri::TableNodes {
 public:
  using TableNodes::TableNodes;
  uint64_t misses() const { return misses_; }

 protected:
  // Children that aren't in memory come here, too.
  siri::NodePtr read(const siri::Hash& hash) override {
    const uint64_t before = read_from_table();
    siri::NodePtr node = TableNodes::read(hash);
    misses_ += read_from_table() > before;
    return node;
  }

 private:
  uint64_t misses_ = 0;
};

struct Work {
  std::vector<Record> all, changes;
  std::vector<Bytes> wanted;
};

Work work_of(const Settings& settings, uint64_t size) {
  base::Random random(size);
  Work work{records(0, size), {}, {}};
  shuffle(work.all, random);
  for (size_t i = 0; i < settings.operations; ++i) {
    work.changes.push_back(record(random.below(size), 1));
    work.wanted.push_back(key_of(random.below(size)));
  }
  return work;
}

Speeds in_engine(const Settings& settings, const siri::IndexOptions& options, const Work& work) {
  const std::string path = settings.scratch + "/engine";
  Speeds speeds;
  {
    storage::EngineOptions engine_options(base::system_clock());
    engine_options.path = path;
    storage::Engine engine(engine_options);
    const storage::Table table = engine.open_table("bench-nodes", {});
    const auto index = siri::make_index(options);
    siri::NodeCache cache(cache_bytes);
    siri::Hash root{};
    const auto put_all = [&](const std::vector<Record>& all) {
      const CpuWatch watch;
      for (size_t i = 0; i < all.size(); i += batch_records) {
        storage::in_transaction(engine, [&](storage::Transaction& transaction) {
          siri::TableNodes nodes(transaction, table, cache);
          const siri::Hash before = root == siri::Hash{} ? index->empty(nodes) : root;
          root = index->update(nodes, before, in_order(all.data() + i, std::min(batch_records, all.size() - i)));
        });
      }
      return static_cast<double>(all.size()) / watch.seconds();
    };
    speeds.load = put_all(work.all);
    speeds.writes = put_all(work.changes);
    storage::Transaction transaction(engine, storage::Transaction::Mode::read);
    CountingNodes nodes(transaction, table, cache);
    const CpuWatch watch;
    for (const Bytes& key : work.wanted) base::check(index->find(nodes, root, key).has_value(), "a record is found");
    speeds.reads = static_cast<double>(work.wanted.size()) / watch.seconds();
    speeds.nodes = static_cast<double>(nodes.visits());
    speeds.hits = speeds.nodes - static_cast<double>(nodes.misses());
    storage::TableCursor cursor = table.cursor(transaction);
    while (cursor.next()) speeds.mb += static_cast<double>(cursor.key().size() + cursor.value().size()) / 1e6;
  }
  std::filesystem::remove_all(path);
  return speeds;
}

double children_seconds() {
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// The result is in CPU seconds.
double run(const std::string& command) {
  const double before = children_seconds();
  datasets::Subprocess process({"sh", "-c", command}, datasets::Subprocess::Input::none);
  char buffer[4096];
  while (process.read(buffer, sizeof buffer) > 0) {
  }
  if (process.wait() != 0) throw std::runtime_error("failed: " + command);
  return children_seconds() - before;
}

// Each record is a file, in folders by the first two letters of the keys, so that git's trees are as wide as ours are deep.
std::string path_of(const Bytes& key) {
  return key.substr(0, 2) + "/" + key;
}

double import(const std::string& git, const std::string& stream, const std::vector<Record>& all, bool goes_on) {
  {
    std::ofstream out(stream, std::ios::binary);
    for (size_t i = 0; i < all.size(); i += batch_records) {
      out << "commit refs/heads/main\ncommitter bench <bench@localhost> " << i << " +0000\ndata 0\n";
      if (i == 0 && goes_on) out << "from refs/heads/main^0\n";
      for (size_t at = i; at < std::min(all.size(), i + batch_records); ++at) {
        out << "M 100644 inline " << path_of(all[at].key) << "\ndata " << all[at].value.size() << "\n" << all[at].value << "\n";
      }
    }
  }
  return static_cast<double>(all.size()) / run(git + " fast-import --quiet < " + stream);
}

Speeds in_git(const Settings& settings, const Work& work) {
  const std::string folder = settings.scratch + "/git", stream = settings.scratch + "/stream";
  const std::string git = "git -C " + folder;
  std::filesystem::create_directories(folder);
  run(git + " init -q --bare");
  Speeds speeds;
  speeds.load = import(git, stream, work.all, false);
  speeds.writes = import(git, stream, work.changes, true);
  {
    std::ofstream out(stream);
    for (const Bytes& key : work.wanted) out << "main:" << path_of(key) << "\n";
  }
  speeds.reads = static_cast<double>(work.wanted.size()) / run(git + " cat-file --batch < " + stream + " > /dev/null");
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) speeds.mb += static_cast<double>(entry.file_size()) / 1e6;
  }
  std::filesystem::remove_all(folder);
  std::filesystem::remove(stream);
  return speeds;
}

void add(Table& table, const std::string& name, const Speeds& speeds) {
  table.rows.push_back(
      {name, number_text(speeds.load), number_text(speeds.reads), number_text(speeds.writes), number_text(speeds.mb)});
}

}  // namespace

void run_in_tables(const Settings& settings, Report& report) {
  const std::vector<std::string> columns{"", "load", "reads", "writes", "MB"};
  Figure engine{"21",
                "In the engine's tables, operations a CPU second of the thread",
                {},
                {},
                {},
                {fmt::format("a transaction a batch of {}, reads one by one; {} MB of nodes decoded; nodes that are like older "
                             "ones as their deltas; MB: rows of all versions, before the engine packs them",
                             batch_records, cache_bytes >> 20),
                 "the paper has Forkbase and a network; neither is here"}};
  for (const uint64_t size : {settings.records / 16, settings.records / 4, settings.records}) {
    const Work work = work_of(settings, size);
    Table table{fmt::format("{} records", size), columns, {}};
    table.columns.insert(table.columns.end(), {"nodes a read", "of them in memory, %"});
    for (const auto& [name, options] : all_indexes()) {
      std::cerr << "figure 21: " << name << ", " << size << " records\n";
      const Speeds speeds = in_engine(settings, options, work);
      add(table, name, speeds);
      table.rows.back().push_back(number_text(speeds.nodes / static_cast<double>(work.wanted.size())));
      table.rows.back().push_back(number_text(100 * speeds.hits / speeds.nodes));
    }
    engine.tables.push_back(std::move(table));
  }
  report.figures.push_back(std::move(engine));

  Figure git{"22",
             "Beside git, operations a CPU second",
             {},
             {},
             {},
             {"the paper compares Forkbase with Noms, of which there is no program to run here; git is what most people have "
              "that calls states by hashes: SHA-1, fast-import with a commit a batch, cat-file --batch; the CPU time of all its "
              "processes, compression and packing included",
              git_version()}};
  for (const uint64_t size : {settings.records / 16, settings.records / 4}) {
    const Work work = work_of(settings, size);
    Table table{fmt::format("{} records", size), columns, {}};
    std::cerr << "figure 22: " << size << " records\n";
    add(table, "POS-Tree of 1 KB", in_engine(settings, {}, work));
    add(table, "POS-Tree of 4 KB by byte window",
        in_engine(settings, {.boundary = siri::Boundary::byte_window, .node_bytes = 4096}, work));
    add(table, "git", in_git(settings, work));
    git.tables.push_back(std::move(table));
  }
  report.figures.push_back(std::move(git));
}

}  // namespace bench::merkle
