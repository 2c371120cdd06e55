// GitHistory reads the history of a git repository: every version of every text file that a commit wrote is a document, oldest
// commit first.
//
//   {_id: "<commit>:<path>", path, blob, author: {name, email}, date, subject, text}
//
// A merge contributes the files that differ from those of all its parents. The `git` program reads the repository, which may be
// bare. Binary files, symbolic links and submodules are left out.
#pragma once

#include <deque>
#include <memory>

#include "datasets/git_output.h"
#include "datasets/input/subprocess.h"
#include "datasets/loader.h"
#include "datasets/problems.h"

namespace datasets {

class GitHistoryLoader : public Loader {
 public:
  // Throws InputError when `repository` is none, or `revision` doesn't exist in it.
  GitHistoryLoader(const std::string& repository, Problems& problems, const std::string& revision = "HEAD");
  ~GitHistoryLoader() override;

  std::optional<Item> next() override;
  double fraction() const override;

  static bool recognizes(const std::string& path);

 private:
  void request_more();
  Item item(const GitVersion& version, std::string_view content) const;

  std::string repository_;
  Problems& problems_;
  Subprocess* log_process_ = nullptr;  // until it has ended
  std::unique_ptr<GitLog> log_;
  Subprocess* blob_process_ = nullptr;
  std::unique_ptr<GitBlobs> blobs_;
  std::deque<GitVersion> wanted_;  // blobs that the reader was asked for; answers come in this order
  bool log_done_ = false;
  uint64_t commits_total_ = 0;
};

}  // namespace datasets
