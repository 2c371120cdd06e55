// A Source leads from what the user points at to a loader.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "datasets/loader.h"
#include "datasets/problems.h"

namespace datasets {

enum class Kind { detect, wikipedia, maildir, mbox, stackexchange, boards, versions, git, synthetic };

// Knows "wikipedia", "mbox", …; returns nullopt for other names.
std::optional<Kind> kind_of(std::string_view name);
std::string_view kind_name(Kind kind);
std::vector<std::string> kind_names();

struct SourceOptions {
  // This is a file, a folder, an archive, a git repository, or "synthetic:<profile>".
  std::string source;
  Kind kind = Kind::detect;
  bool timestamp_order = false;
  uint64_t records = 10'000;      // synthetic only
  uint64_t seed = 1;              // synthetic only
  std::string revision = "HEAD";  // git only
};

// Files of a folder are recognized one by one: a folder may mix kinds. Files
// of no known kind are left out and counted in `unknown`. Throws InputError when
// there is nothing to load from.
class Source : public Loader {
 public:
  Source(const SourceOptions& options, Problems& problems);
  ~Source() override;

  std::optional<Item> next() override;
  double fraction() const override;

  // Returns the kind of what has been loaded last; the traces go by it.
  Kind kind() const { return kind_; }
  uint64_t unknown() const { return unknown_; }

 private:
  class FileSequence;
  std::unique_ptr<Loader> loader_;
  Problems& problems_;
  Kind kind_;
  uint64_t unknown_ = 0;
};

// Tells the kind by the first bytes and, for the Stack Exchange tables, the name.
Kind detect(std::string_view name, base::BytesView head);

}  // namespace datasets
