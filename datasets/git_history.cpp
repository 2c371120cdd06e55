#include "datasets/git_history.h"

#include <charconv>
#include <filesystem>

#include "base/hash.h"
#include "bson/builder.h"
#include "datasets/utf8.h"

namespace datasets {
namespace {

constexpr size_t binary_look = 8000;  // a NUL this early makes a file binary, as in git itself
constexpr size_t requests_max = 256;  // so many names fit a pipe, so that asking never waits for reading

std::vector<std::string> git(const std::string& repository, std::initializer_list<std::string> arguments) {
  std::vector<std::string> command{"git", "-c", "safe.directory=*", "-c", "core.quotePath=false", "-C", repository};
  command.insert(command.end(), arguments);
  return command;
}

std::string all_of(Subprocess& program) {
  std::string text;
  char piece[4096];
  while (const size_t got = program.read(piece, sizeof piece)) text.append(piece, got);
  return text;
}

bool is_binary(std::string_view content) {
  return content.substr(0, binary_look).find('\0') != std::string_view::npos;
}

}  // namespace

bool GitHistoryLoader::recognizes(const std::string& path) {
  namespace fs = std::filesystem;
  const fs::path root(path);
  std::error_code error;
  if (fs::exists(root / ".git", error)) return true;
  return fs::is_regular_file(root / "HEAD", error) && fs::is_directory(root / "objects", error) &&
         fs::is_directory(root / "refs", error);
}

GitHistoryLoader::GitHistoryLoader(const std::string& repository, Problems& problems, const std::string& revision)
    : repository_(repository), problems_(problems) {
  try {
    Subprocess count(git(repository, {"rev-list", "--count", revision, "--"}), Subprocess::Input::none);
    const std::string text = all_of(count);
    if (count.wait() != 0) throw InputError(repository + ": not a git repository, or it has no " + revision);
    std::from_chars(text.data(), text.data() + text.size(), commits_total_);
    auto log = std::make_unique<Subprocess>(git(repository, {"log", "--reverse", "--topo-order", "--root", "-c", "--raw", "-z",
                                                             "--no-abbrev", "--no-renames", GitLog::format, revision, "--"}),
                                            Subprocess::Input::none);
    log_process_ = log.get();
    log_ = std::make_unique<GitLog>(std::move(log));
    auto blobs = std::make_unique<Subprocess>(git(repository, {"cat-file", "--batch"}), Subprocess::Input::pipe);
    blob_process_ = blobs.get();
    blobs_ = std::make_unique<GitBlobs>(std::move(blobs));
  } catch (const StreamError& failed) {
    throw InputError(failed.what());
  }
}

GitHistoryLoader::~GitHistoryLoader() = default;

double GitHistoryLoader::fraction() const {
  return commits_total_ == 0 ? 1.0 : static_cast<double>(log_->commits()) / static_cast<double>(commits_total_);
}

std::optional<Item> GitHistoryLoader::next() {
  try {
    for (;;) {
      if (wanted_.empty()) request_more();
      if (wanted_.empty()) return std::nullopt;
      const GitVersion version = std::move(wanted_.front());
      wanted_.pop_front();
      const auto content = blobs_->next(version.blob);
      if (!content.ok())
        problems_.report({repository_, 0, 0, version.commit->name + ":" + version.path + ": " + content.failure().message});
      else if (!is_binary(content.value()))
        return item(version, content.value());
    }
  } catch (const StreamError& failed) {
    log_done_ = true;
    wanted_.clear();
    problems_.report({repository_, 0, 0, failed.what()});
    return std::nullopt;
  }
}

void GitHistoryLoader::request_more() {
  std::string request;
  while (wanted_.size() < requests_max && !log_done_) {
    if (auto version = log_->next())
      wanted_.push_back(std::move(*version));
    else
      log_done_ = true;
  }
  for (const GitVersion& version : wanted_) request += version.blob + "\n";
  if (!request.empty()) blob_process_->write(request);
  if (log_done_ && log_process_) {
    if (const int code = log_process_->wait(); code != 0)
      problems_.report({repository_, 0, 0, "git log ended with " + std::to_string(code)});
    log_process_ = nullptr;
  }
}

Item GitHistoryLoader::item(const GitVersion& version, std::string_view content) const {
  const GitCommit& commit = *version.commit;
  const std::string path = to_utf8(version.path);
  bson::Bytes memory;
  memory.reserve(content.size() + 512);
  bson::Builder document(std::move(memory));
  document.append("_id", commit.name + ":" + path).append("path", path).append("blob", version.blob);
  document.object("author").append("name", to_utf8(commit.author)).append("email", to_utf8(commit.email));
  document.append("date", bson::Date{commit.timestamp_ms}).append("subject", to_utf8(commit.subject));
  document.append("text", to_utf8(content));
  Item item;
  item.collection = "files";
  item.timestamp_ms = commit.timestamp_ms;
  item.group = base::hash64(path);
  item.text_bytes = content.size();
  item.document = document.done();
  return item;
}

}  // namespace datasets
