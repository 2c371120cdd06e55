// Runs every fuzz target on its corpus, without a fuzzer: with any compiler, in any preset.
//
//   fuzz_replay CORPUS              all targets, each on the files of CORPUS/<target>
//   fuzz_replay CORPUS TARGET       one
//   fuzz_replay --seeds CORPUS      writes what the targets' seeds are now, as CORPUS/<target>/seed-<n>
//   fuzz_replay --list
//
// A target without a corpus fails, and so does a corpus without a target.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include <unistd.h>

#include "base/fuzz_target.h"

namespace {

namespace fs = std::filesystem;

std::string at;  // the input that is running, for whoever reads why the program stopped

void tell_input(int signal) {
  const auto tell = [](std::string_view text) { return write(STDERR_FILENO, text.data(), text.size()); };
  if (tell("\nfuzz_replay: stopped by the input ") < 0 || tell(at) < 0 || tell("\n") < 0) _exit(3);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

base::Bytes read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::set<fs::path> files_in(const fs::path& folder) {
  std::set<fs::path> files;
  if (!fs::is_directory(folder)) return files;
  for (const auto& entry : fs::directory_iterator(folder)) files.insert(entry.path());
  return files;
}

bool replay(const base::FuzzTarget& target, const fs::path& folder) {
  const auto files = files_in(folder);
  for (const auto& file : files) {
    at = file.string();
    target.run(read_file(file));
  }
  size_t seeds = 0;
  at = target.name() + "'s seeds";
  for (const auto& seed : target.seeds()) {
    at = target.name() + "'s seed " + std::to_string(++seeds);
    base::check(target.run(seed), "a fuzz target accepts its seeds");
  }
  std::printf("%-24s %4zu files, %3zu seeds\n", target.name().c_str(), files.size(), seeds);
  if (files.empty()) std::fprintf(stderr, "%s: no corpus in %s\n", target.name().c_str(), folder.c_str());
  return !files.empty();
}

bool replay_all(const fs::path& corpus) {
  bool good = true;
  for (const auto* target : base::FuzzTarget::all()) good = replay(*target, corpus / target->name()) && good;
  for (const auto& folder : files_in(corpus)) {
    if (base::FuzzTarget::find(folder.filename().string())) continue;
    std::fprintf(stderr, "%s: no target has this name\n", folder.c_str());
    good = false;
  }
  return good;
}

void write_seeds(const fs::path& corpus) {
  for (const auto* target : base::FuzzTarget::all()) {
    const fs::path folder = corpus / target->name();
    fs::create_directories(folder);
    size_t count = 0;
    for (const auto& seed : target->seeds()) {
      std::ofstream file(folder / ("seed-" + std::to_string(++count)), std::ios::binary | std::ios::trunc);
      file.write(seed.data(), static_cast<std::streamsize>(seed.size()));
    }
  }
}

int usage() {
  std::fprintf(stderr, "usage: fuzz_replay CORPUS [TARGET] | --seeds CORPUS | --list\n");
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) std::signal(signal, tell_input);
  const std::string first = argc > 1 ? argv[1] : "";
  if (first == "--list" && argc == 2) {
    for (const auto* target : base::FuzzTarget::all()) std::printf("%s\n", target->name().c_str());
    return 0;
  }
  if (first == "--seeds" && argc == 3) return write_seeds(argv[2]), 0;
  if (first.empty() || first[0] == '-' || argc > 3) return usage();
  if (argc == 2) return replay_all(first) ? 0 : 1;
  const auto* target = base::FuzzTarget::find(argv[2]);
  if (!target) return usage();
  return replay(*target, fs::path(first) / target->name()) ? 0 : 1;
}
