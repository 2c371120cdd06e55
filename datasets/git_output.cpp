#include "datasets/git_output.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include "datasets/times.h"

namespace datasets {
namespace {

constexpr size_t header_bytes_max = 1 << 10;
constexpr size_t shown_bytes = 80;

[[noreturn]] void refuse_log(const std::string& text) {
  throw StreamError("git log answers something else: " + text.substr(0, shown_bytes));
}

std::vector<std::string> words_of(const std::string& text, size_t from) {
  std::vector<std::string> words;
  for (size_t at = from; at < text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

}  // namespace

// The log with -z is a run of NUL-terminated tokens.
std::optional<std::string> GitLog::token() {
  std::string text;
  for (;;) {
    const base::BytesView chunk = printed_.chunk();
    if (chunk.empty()) return text.empty() ? std::nullopt : std::optional(text);
    const size_t end = chunk.find('\0');
    text.append(chunk.substr(0, end));
    printed_.take(end == base::BytesView::npos ? chunk.size() : end + 1);
    if (end != base::BytesView::npos) return text;
  }
}

std::optional<GitVersion> GitLog::next() {
  while (auto word = token()) {
    if (!word->empty() && word->front() == '\n') word->erase(0, 1);
    if (word->empty()) continue;
    if (word->front() == '\1') {
      GitCommit commit;
      commit.name = word->substr(1);
      commit.author = token().value_or("");
      commit.email = token().value_or("");
      commit.timestamp_ms = parse_iso8601(token().value_or("")).value_or(0);
      commit.subject = token().value_or("");
      commit_ = std::make_shared<const GitCommit>(std::move(commit));
      ++commits_;
    } else if (word->front() == ':' && commit_) {
      if (auto version = change(*word)) return version;
    } else {
      refuse_log(*word);
    }
  }
  return std::nullopt;
}

// A changed file is ":100644 100644 <old> <new> M"; a merge of n parents has n colons, n + 1 modes and n + 1
// blobs.
std::optional<GitVersion> GitLog::change(const std::string& raw) {
  const size_t parents = std::min(raw.find_first_not_of(':'), raw.size());
  const std::vector<std::string> words = words_of(raw, parents);
  auto path = token();
  if (words.size() != 2 * (parents + 1) + 1 || !path) refuse_log(raw);
  const std::string& mode = words[parents];
  if (mode != "100644" && mode != "100755") return std::nullopt;
  return GitVersion{commit_, std::move(*path), words[2 * parents + 1]};
}

base::Result<std::string> GitBlobs::next(const std::string& blob) {
  std::string header;
  for (char c = 0;;) {
    if (printed_.read(&c, 1) == 0) throw StreamError("git cat-file ended early");
    if (c == '\n') break;
    header.push_back(c);
    if (header.size() > header_bytes_max)
      throw StreamError("git cat-file answers something else: " + header.substr(0, shown_bytes));
  }
  const size_t space = header.rfind(' ');
  uint64_t bytes = 0;
  // "<blob> missing" has no content behind it.
  if (header.compare(0, blob.size(), blob) != 0 || space == std::string::npos ||
      std::from_chars(header.data() + space + 1, header.data() + header.size(), bytes).ec != std::errc())
    return base::Failure{base::ErrorCode::no_such_key, header};
  const bool keep = bytes <= bytes_max;
  std::string content;
  if (keep) content.reserve(bytes);
  for (uint64_t left = bytes; left > 0;) {
    const base::BytesView chunk = printed_.chunk();
    if (chunk.empty()) throw StreamError("git cat-file ended early");
    const uint64_t piece = std::min<uint64_t>(left, chunk.size());
    if (keep) content.append(chunk.substr(0, piece));
    printed_.take(piece);
    left -= piece;
  }
  char newline = 0;
  if (printed_.read(&newline, 1) == 0) throw StreamError("git cat-file ended early");
  if (!keep) return base::Failure{base::ErrorCode::bson_object_too_large, "larger than a document may be"};
  return content;
}

}  // namespace datasets
