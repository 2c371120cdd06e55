// Runs every fuzz target on its corpus, without a fuzzer: with any compiler, in any preset.
//
//   fuzz_replay CORPUS              all targets, each on the files of CORPUS/<target>
//   fuzz_replay CORPUS TARGET       one
//   fuzz_replay --seeds CORPUS      writes what the targets' seeds are now, as CORPUS/<target>/seed-<n>
//   fuzz_replay --random SECONDS TARGET [SEED]
//                                   random bytes and changed seeds, which find less than a fuzzer, but in any preset. An input
//                                   that stops the process, or takes a minute, lies in the file failed-<target>.
//   fuzz_replay --list
//
// A target without a corpus fails, and so does a corpus without a target.
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include <fcntl.h>
#include <unistd.h>

#include "base/fuzz_target.h"
#include "base/random.h"

namespace {

namespace fs = std::filesystem;

std::string at;                       // the input that is running, for whoever reads why the program stopped
base::Bytes made;                     // the input itself, if no file holds it
constexpr unsigned seconds_max = 60;  // of one random input

void tell_input(int signal) {
  const auto tell = [](std::string_view text) { return write(STDERR_FILENO, text.data(), text.size()); };
  if (tell("\nfuzz_replay: stopped by the input ") < 0 || tell(at) < 0 || tell("\n") < 0) _exit(3);
  if (const int file = made.empty() ? -1 : open(at.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644); file >= 0) {
    if (write(file, made.data(), made.size()) < 0 || close(file) < 0) _exit(3);
  }
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

base::Bytes random_input(base::Random& random, const std::vector<base::Bytes>& seeds) {
  base::Bytes input = seeds.empty() || random.below(2) == 0 ? base::Bytes() : seeds[random.below(seeds.size())];
  if (input.empty()) {
    input.resize(random.below(600));
    for (char& byte : input) byte = static_cast<char>(random());
    return input;
  }
  for (uint64_t changes = random.below(6); changes > 0 && !input.empty(); --changes) {
    const size_t place = random.below(input.size());
    switch (random.below(4)) {
      case 0: input[place] = static_cast<char>(random()); break;
      case 1: input.insert(place, 1, static_cast<char>(random())); break;
      case 2: input.erase(place, 1 + random.below(8)); break;
      default: input[place] = static_cast<char>(input[place] ^ 1 << random.below(8));
    }
  }
  return input;
}

void run_random(const base::FuzzTarget& target, int64_t seconds, uint64_t seed) {
  const auto seeds = target.seeds();
  base::Random random(seed);
  at = "failed-" + target.name();
  uint64_t runs = 0, accepted = 0;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  for (; std::chrono::steady_clock::now() < end; ++runs) {
    made = random_input(random, seeds);
    alarm(seconds_max);
    accepted += target.run(made) ? 1 : 0;
  }
  alarm(0);
  std::printf("%-24s %llu inputs, %llu accepted\n", target.name().c_str(), static_cast<unsigned long long>(runs),
              static_cast<unsigned long long>(accepted));
}

int usage() {
  std::fprintf(stderr, "usage: fuzz_replay CORPUS [TARGET] | --seeds CORPUS | --random SECONDS TARGET [SEED] | --list\n");
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGALRM}) std::signal(signal, tell_input);
  const std::string first = argc > 1 ? argv[1] : "";
  if (first == "--list" && argc == 2) {
    for (const auto* target : base::FuzzTarget::all()) std::printf("%s\n", target->name().c_str());
    return 0;
  }
  if (first == "--seeds" && argc == 3) return write_seeds(argv[2]), 0;
  if (first == "--random" && (argc == 4 || argc == 5)) {
    const auto* target = base::FuzzTarget::find(argv[3]);
    if (!target) return usage();
    return run_random(*target, std::atoll(argv[2]), argc == 5 ? std::strtoull(argv[4], nullptr, 10) : 1), 0;
  }
  if (first.empty() || first[0] == '-' || argc > 3) return usage();
  if (argc == 2) return replay_all(first) ? 0 : 1;
  const auto* target = base::FuzzTarget::find(argv[2]);
  if (!target) return usage();
  return replay(*target, fs::path(first) / target->name()) ? 0 : 1;
}
