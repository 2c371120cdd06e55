#include "bench/remotes/git_peer.h"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <stdexcept>

#include "datasets/input/subprocess.h"

namespace bench::remotes {
namespace {

using datasets::Subprocess;

struct Output {
  std::string text;  // its beginning
  uint64_t bytes = 0;
};

Output run(const std::vector<std::string>& command, const std::string& input = {}) {
  Subprocess process(command, Subprocess::Input::pipe);
  process.write(input);
  process.end_input();
  Output out;
  std::array<char, 1 << 16> buffer;
  constexpr size_t kept = 1 << 10;
  while (const size_t got = process.read(buffer.data(), buffer.size())) {
    if (out.text.size() < kept) out.text.append(buffer.data(), got);
    out.bytes += got;
  }
  if (const int code = process.wait(); code != 0)
    throw std::runtime_error(fmt::format("{} failed with exit code {}", fmt::join(command, " "), code));
  return out;
}

std::string head(const std::string& repository) {
  return run({"git", "-C", repository, "rev-parse", "main"}).text;
}

template <class Work>
double ms_of(Work&& work) {
  const auto begun = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begun).count();
}

}  // namespace

GitPeer::GitPeer(const std::string& scratch) : folder_(scratch) {
  for (const std::string& repository : {here(), hub()}) run({"git", "init", "-q", "--bare", repository});
  run({"git", "-C", here(), "remote", "add", "hub", "file://" + hub()});
}

void GitPeer::commit(const Files& files) {
  constexpr size_t buffer_bytes = 1 << 20;
  Subprocess import({"git", "-C", here(), "fast-import", "--quiet", "--done"}, Subprocess::Input::pipe);
  std::string buffer =
      fmt::format("commit refs/heads/main\ncommitter bench <bench@localhost> {} +0000\ndata 8\nmeasured\n", ++commits_);
  if (commits_ > 1) buffer += "from refs/heads/main^0\n";
  for (const auto& [path, content] : files) {
    buffer += fmt::format("M 100644 inline {}\ndata {}\n{}\n", path, content.size(), content);
    if (buffer.size() < buffer_bytes) continue;
    import.write(buffer);
    buffer.clear();
  }
  import.write(buffer + "done\n");
  if (import.wait() != 0) throw std::runtime_error("git fast-import failed");
}

// A push to a local repository doesn't say what it sends, so the same pack is made once more and counted.
GitPeer::Pushed GitPeer::push() {
  const std::string revisions = "main\n" + (pushed_.empty() ? std::string() : "^" + pushed_);
  Pushed done;
  done.bytes =
      run({"git", "-C", here(), "pack-objects", "--revs", "--thin", "--delta-base-offset", "--stdout", "-q"}, revisions).bytes;
  done.ms = ms_of([&] { run({"git", "-C", here(), "push", "-q", "hub", "main"}); });
  pushed_ = head(here());
  return done;
}

double GitPeer::fetch_ms() {
  return ms_of([&] { run({"git", "-C", here(), "fetch", "-q", "hub"}); });
}

void GitPeer::check_same() {
  if (head(here()) != head(hub())) throw std::runtime_error("git's two branches end at different commits");
}

}  // namespace bench::remotes
