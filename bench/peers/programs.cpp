#include "bench/peers/programs.h"

#include <fmt/core.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <thread>

#include "datasets/input/subprocess.h"

namespace bench {
namespace {

using datasets::Subprocess;

std::string read_all(Subprocess& process) {
  std::string out;
  std::array<char, 1 << 16> buffer;
  while (const size_t got = process.read(buffer.data(), buffer.size())) out.append(buffer.data(), got);
  return out;
}

std::string run(const std::vector<std::string>& command) {
  Subprocess process(command, Subprocess::Input::none);
  std::string out = read_all(process);
  if (const int code = process.wait(); code != 0)
    throw std::runtime_error(command[0] + " " + command[1] + " failed with exit code " + std::to_string(code));
  return out;
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

void feed_import(const Workload& workload, Subprocess& import) {
  constexpr size_t buffer_bytes = 1 << 20;
  std::string buffer;
  size_t mark = 0;
  for (const Record& record : workload.records) {
    buffer += fmt::format("blob\nmark :{}\ndata {}\n", ++mark, record.document.size());
    buffer += record.document;
    buffer += '\n';
    if (buffer.size() > buffer_bytes) {
      import.write(buffer);
      buffer.clear();
    }
  }
  // One tree holds them all. git first compares blobs whose paths end alike, so the group stands last.
  buffer += "commit refs/heads/main\ncommitter bench <bench@localhost> 0 +0000\ndata 0\n";
  for (size_t i = 0; i < mark; ++i) {
    buffer += fmt::format("M 100644 :{} {:03}/{:07}/{:016x}\n", i + 1, i / 1000, i, workload.records[i].group);
    if (buffer.size() > buffer_bytes) {
      import.write(buffer);
      buffer.clear();
    }
  }
  import.write(buffer);
}

}  // namespace

uint64_t git_pack(const Workload& workload, const std::string& folder) {
  std::filesystem::remove_all(folder);
  run({"git", "init", "-q", "--bare", folder});
  run({"git", "-C", folder, "config", "core.bigFileThreshold", "512m"});
  {
    Subprocess import({"git", "-C", folder, "fast-import", "--quiet", "--done"}, Subprocess::Input::pipe);
    feed_import(workload, import);
    import.write("done\n");
    if (import.wait() != 0) throw std::runtime_error("git fast-import failed");
  }
  run({"git", "-C", folder, "-c", "gc.reflogExpire=now", "gc", "-q", "--aggressive", "--prune=now"});
  uint64_t bytes = 0;
  const std::string sizes =
      run({"git", "-C", folder, "cat-file", "--batch-all-objects", "--batch-check=%(objecttype) %(objectsize:disk)"});
  for (size_t at = 0; at < sizes.size();) {
    const size_t end = sizes.find('\n', at);
    const std::string_view line(sizes.data() + at, end - at);
    if (line.starts_with("blob ")) bytes += std::stoull(std::string(line.substr(5)));
    at = end + 1;
  }
  std::filesystem::remove_all(folder);
  return bytes;
}

uint64_t zstd_long(const Workload& workload, int level) {
  Subprocess zstd({"zstd", fmt::format("-{}", level), "--long=31", "-T1", "-q", "-c"}, Subprocess::Input::pipe);
  std::thread feeder([&] {
    for (const Record& record : workload.records) zstd.write(record.document);
    zstd.end_input();
  });
  uint64_t bytes = 0;
  std::array<char, 1 << 16> buffer;
  while (const size_t got = zstd.read(buffer.data(), buffer.size())) bytes += got;
  feeder.join();
  if (const int code = zstd.wait(); code != 0) throw std::runtime_error("zstd failed with exit code " + std::to_string(code));
  return bytes;
}

std::string git_version() {
  return first_line(run({"git", "--version"}));
}
std::string zstd_version() {
  return first_line(run({"zstd", "--version"}));
}

}  // namespace bench
