#include "bench/branches/git_peer.h"

#include <sys/resource.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <stdexcept>
#include <vector>

#include "bench/branches/dataset.h"
#include "datasets/input/subprocess.h"

namespace bench::branches {
namespace {

namespace fs = std::filesystem;

double children_seconds() {
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

void git(const std::string& folder, std::vector<std::string> arguments) {
  std::vector<std::string> command{"git", "-C",       folder, "-c", "user.name=bench", "-c", "user.email=bench@localhost",
                                   "-c",  "gc.auto=0"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  datasets::Subprocess process(command, datasets::Subprocess::Input::none);
  char buffer[4096];
  while (process.read(buffer, sizeof buffer) > 0) {
  }
  if (process.wait() != 0) throw std::runtime_error("git " + arguments[0] + " failed");
}

double folder_mb(const std::string& folder) {
  uint64_t bytes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) bytes += entry.file_size();
  }
  return static_cast<double>(bytes) / 1e6;
}

void write(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

}  // namespace

GitFigures run_git(const std::string& folder, size_t records, size_t commits, double updates, bool file_a_record) {
  fs::create_directories(folder);
  git(folder, {"init", "-q", "-b", "main"});
  base::Random random(11);
  std::map<int64_t, base::Bytes> all;
  GitFigures figures;
  double cpu = 0;
  for (size_t commit = 0; commit < commits; ++commit) {
    for (size_t i = 0; i < records / commits; ++i) {
      const bool update = !all.empty() && random.unit() < updates;
      const auto id = update ? static_cast<int64_t>(random.below(all.size())) : static_cast<int64_t>(all.size());
      all[id] = random_record(random, id);
      figures.raw_mb += static_cast<double>(all[id].size()) / 1e6;
      if (file_a_record) write(fs::path(folder) / std::to_string(id), all[id]);
    }
    if (!file_a_record) {
      base::Bytes heap;
      for (const auto& [id, record] : all) heap += record;
      write(fs::path(folder) / "records", heap);
    }
    const double before = children_seconds();
    git(folder, {"add", "-A"});
    git(folder, {"commit", "-q", "-m", "a commit"});
    git(folder, {"tag", "t" + std::to_string(commit)});
    cpu += children_seconds() - before;
  }
  figures.commit_ms = cpu * 1e3 / static_cast<double>(commits);
  const double before = children_seconds();
  size_t checkouts = 0;
  for (size_t commit = 0; commit < commits; commit += 10, ++checkouts)
    git(folder, {"checkout", "-q", "t" + std::to_string(commit)});
  figures.checkout_ms = (children_seconds() - before) * 1e3 / static_cast<double>(checkouts);
  figures.loose_mb = folder_mb(folder + "/.git");
  git(folder, {"repack", "-q", "-a", "-d"});
  git(folder, {"prune-packed", "-q"});
  figures.packed_mb = folder_mb(folder + "/.git");
  fs::remove_all(folder);
  return figures;
}

}  // namespace bench::branches
