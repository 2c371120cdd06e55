// Files gives every file under a path, and opens archives on the way.
//
// A path may be a file, a folder or a tar archive, and folders may hold archives: the caller gets one
// flat sequence of decompressed files, folders in order of name. Hidden files and folders are left
// out.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "datasets/input/stream.h"
#include "datasets/problems.h"

namespace datasets {

struct InputFile {
  std::string name;  // the name as a user would look for it: "enron.tar.zst/maildir/blair-l/inbox/1."
  std::unique_ptr<BufferedStream> content;
};

class Files {
 public:
  // Throws InputError when there is nothing at `path`.
  Files(const std::string& path, Problems& problems);
  ~Files();

  // The content is valid until the next call. A file that can't be opened or an archive that breaks off is a problem; the files
  // behind it are still delivered.
  std::optional<InputFile> next();

  Meter& meter() { return meter_; }
  const Meter& meter() const { return meter_; }

 private:
  class Level;
  class One;
  class Folder;
  class Archive;
  struct Entry;

  std::optional<InputFile> open(Entry entry);

  Problems& problems_;
  Meter meter_;
  std::vector<std::unique_ptr<Level>> levels_;
};

}  // namespace datasets
