#include "datasets/git_history.h"

#include <charconv>
#include <filesystem>

#include "base/hash.h"
#include "bson/builder.h"
#include "datasets/times.h"
#include "datasets/utf8.h"

namespace datasets {
namespace {

constexpr size_t blob_bytes_max = 15 << 20;
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
    auto log = std::make_unique<Subprocess>(
        git(repository, {"log", "--reverse", "--topo-order", "--root", "-c", "--raw", "-z", "--no-abbrev", "--no-renames",
                         "--format=%x01%H%x00%an%x00%ae%x00%cI%x00%s", revision, "--"}),
        Subprocess::Input::none);
    log_process_ = log.get();
    log_ = std::make_unique<BufferedStream>(std::move(log));
    auto blobs = std::make_unique<Subprocess>(git(repository, {"cat-file", "--batch"}), Subprocess::Input::pipe);
    blob_process_ = blobs.get();
    blobs_ = std::make_unique<BufferedStream>(std::move(blobs));
  } catch (const StreamError& failed) {
    throw InputError(failed.what());
  }
}

GitHistoryLoader::~GitHistoryLoader() = default;

double GitHistoryLoader::fraction() const {
  return commits_total_ == 0 ? 1.0 : static_cast<double>(commits_) / static_cast<double>(commits_total_);
}

std::optional<Item> GitHistoryLoader::next() {
  try {
    for (;;) {
      if (wanted_.empty()) request_more();
      if (wanted_.empty()) return std::nullopt;
      const Version version = std::move(wanted_.front());
      wanted_.pop_front();
      if (auto content = read_blob(version)) return item(version, *content);
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
    if (!read_log()) log_done_ = true;
  }
  for (const Version& version : wanted_) request += version.blob + "\n";
  if (!request.empty()) blob_process_->write(request);
  if (log_done_ && log_process_) {
    if (const int code = log_process_->wait(); code != 0)
      problems_.report({repository_, 0, 0, "git log ended with " + std::to_string(code)});
    log_process_ = nullptr;
  }
}

// The log with -z is a run of NUL-terminated tokens.
std::optional<std::string> GitHistoryLoader::token() {
  std::string text;
  for (;;) {
    const base::BytesView chunk = log_->chunk();
    if (chunk.empty()) return text.empty() ? std::nullopt : std::optional(text);
    const size_t end = chunk.find('\0');
    text.append(chunk.substr(0, end));
    log_->take(end == base::BytesView::npos ? chunk.size() : end + 1);
    if (end != base::BytesView::npos) return text;
  }
}

// Reads one commit's header or one changed file. Returns false at the end.
bool GitHistoryLoader::read_log() {
  auto word = token();
  if (!word) return false;
  if (!word->empty() && word->front() == '\n') word->erase(0, 1);
  if (word->empty()) return true;
  if (word->front() == '\1') {
    Commit commit;
    commit.name = word->substr(1);
    commit.author = token().value_or("");
    commit.email = token().value_or("");
    commit.timestamp_ms = parse_iso8601(token().value_or("")).value_or(0);
    commit.subject = token().value_or("");
    commit_ = std::make_shared<const Commit>(std::move(commit));
    ++commits_;
  } else if (word->front() == ':' && commit_) {
    read_change(*word);
  } else {
    throw StreamError("git log answers something else: " + word->substr(0, 80));
  }
  return true;
}

// A changed file is ":100644 100644 <old> <new> M"; a merge of n parents has n colons, n + 1 modes and n + 1
// blobs.
void GitHistoryLoader::read_change(const std::string& raw) {
  const size_t parents = raw.find_first_not_of(':');
  std::vector<std::string> words;
  for (size_t at = parents; at < raw.size();) {
    const size_t end = std::min(raw.find(' ', at), raw.size());
    words.push_back(raw.substr(at, end - at));
    at = end + 1;
  }
  const auto path = token();
  if (words.size() != 2 * (parents + 1) + 1 || !path) throw StreamError("git log answers something else: " + raw.substr(0, 80));
  const std::string& mode = words[parents];
  const std::string& blob = words[2 * parents + 1];
  if (mode == "100644" || mode == "100755") wanted_.push_back({commit_, *path, blob});
}

// Returns nullopt for a blob that is no text.
std::optional<std::string> GitHistoryLoader::read_blob(const Version& version) {
  std::string header;
  for (char c = 0;;) {
    if (blobs_->read(&c, 1) == 0) throw StreamError("git cat-file ended early");
    if (c == '\n') break;
    header.push_back(c);
  }
  const size_t space = header.rfind(' ');
  uint64_t bytes = 0;
  if (header.compare(0, version.blob.size(), version.blob) != 0 || space == std::string::npos ||
      std::from_chars(header.data() + space + 1, header.data() + header.size(), bytes).ec != std::errc()) {
    problems_.report({repository_, 0, 0, version.commit->name + ":" + version.path + ": " + header});
    return std::nullopt;  // "<blob> missing" has no content behind it
  }
  std::string content;
  const bool keep = bytes <= blob_bytes_max;
  if (keep) content.reserve(bytes);
  for (uint64_t left = bytes + 1; left > 0;) {
    const base::BytesView chunk = blobs_->chunk();
    if (chunk.empty()) throw StreamError("git cat-file ended early");
    const uint64_t piece = std::min<uint64_t>(left, chunk.size());
    if (keep) content.append(chunk.substr(0, piece));
    blobs_->take(piece);
    left -= piece;
  }
  if (!keep) {
    problems_.report({repository_, 0, 0, version.commit->name + ":" + version.path + ": larger than a document may be"});
    return std::nullopt;
  }
  content.pop_back();  // the newline behind every object
  if (std::string_view(content).substr(0, binary_look).find('\0') != std::string_view::npos) return std::nullopt;
  return content;
}

Item GitHistoryLoader::item(const Version& version, std::string_view content) const {
  const Commit& commit = *version.commit;
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
