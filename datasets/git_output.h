// GitLog and GitBlobs read what the `git` program prints: a log of the files that commits wrote, and the contents of these files.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "datasets/input/stream.h"

namespace datasets {

struct GitCommit {
  std::string name, author, email, subject;
  int64_t timestamp_ms = 0;
};

struct GitVersion {
  std::shared_ptr<const GitCommit> commit;
  std::string path, blob;
};

// Reads what `git log -c --raw -z --no-abbrev --no-renames` prints with this format. A merge has the files that differ from those
// of all its parents. It isn't thread-safe.
class GitLog {
 public:
  static constexpr const char* format = "--format=%x01%H%x00%an%x00%ae%x00%cI%x00%s";

  explicit GitLog(std::unique_ptr<Stream> printed) : printed_(std::move(printed)) {}

  // Returns the next version of a regular file; nullopt at the end. Throws StreamError for what is no such log.
  std::optional<GitVersion> next();
  uint64_t commits() const { return commits_; }  // read so far

 private:
  std::optional<std::string> token();
  std::optional<GitVersion> change(const std::string& raw);

  BufferedStream printed_;
  std::shared_ptr<const GitCommit> commit_;
  uint64_t commits_ = 0;
};

// Reads what `git cat-file --batch` prints. It isn't thread-safe.
class GitBlobs {
 public:
  explicit GitBlobs(std::unique_ptr<Stream> printed) : printed_(std::move(printed)) {}

  // Returns the content of the object that was asked for next. It fails for an object that isn't there, or has more than
  // bytes_max bytes. Throws StreamError where the answer ends early.
  base::Result<std::string> next(const std::string& blob);

  static constexpr size_t bytes_max = 15 << 20;

 private:
  BufferedStream printed_;
};

}  // namespace datasets
