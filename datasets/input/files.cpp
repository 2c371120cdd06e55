#include "datasets/input/files.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <utility>

#include "datasets/input/tar.h"

namespace datasets {

namespace fs = std::filesystem;

struct Files::Entry {
  std::string name;
  fs::path folder;                 // to descend into, or
  fs::path file;                   // to open, or
  std::unique_ptr<Stream> member;  // already open
};

class Files::Level {
 public:
  virtual ~Level() = default;
  virtual std::optional<Entry> next() = 0;
  virtual const std::string& name() const = 0;
};

class Files::One : public Level {
 public:
  explicit One(Entry entry) : name_(entry.name), entry_(std::move(entry)) {}
  std::optional<Entry> next() override { return std::exchange(entry_, std::nullopt); }
  const std::string& name() const override { return name_; }

 private:
  std::string name_;
  std::optional<Entry> entry_;
};

class Files::Folder : public Level {
 public:
  Folder(const fs::path& path, std::string name) : name_(std::move(name)) {
    for (const auto& entry : fs::directory_iterator(path)) {
      if (entry.path().filename().native().front() == '.') continue;
      if (entry.is_symlink() && entry.is_directory()) continue;  // a link may lead back up
      entries_.push_back(entry.path());
    }
    std::sort(entries_.begin(), entries_.end(), std::greater<>());
  }
  std::optional<Entry> next() override {
    if (entries_.empty()) return std::nullopt;
    const fs::path path = std::move(entries_.back());
    entries_.pop_back();
    Entry entry;
    entry.name = name_ + "/" + path.filename().string();
    (fs::is_directory(path) ? entry.folder : entry.file) = path;
    return entry;
  }

  const std::string& name() const override { return name_; }

 private:
  std::string name_;
  std::vector<fs::path> entries_;  // last first
};

class Files::Archive : public Level {
 public:
  Archive(std::unique_ptr<BufferedStream> archive, std::string name) : reader_(std::move(archive)), name_(std::move(name)) {}
  std::optional<Entry> next() override {
    while (auto member = reader_.next()) {
      if (!member->file) continue;
      std::string_view path = member->path;
      while (path.substr(0, 2) == "./") path.remove_prefix(2);
      Entry entry;
      entry.name = name_ + "/" + std::string(path);
      entry.member = reader_.content();
      return entry;
    }
    return std::nullopt;
  }

  const std::string& name() const override { return name_; }

 private:
  TarReader reader_;
  std::string name_;
};

namespace {

uint64_t bytes_under(const fs::path& path) {
  if (!fs::is_directory(path)) return fs::file_size(path);
  uint64_t bytes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(path, fs::directory_options::skip_permission_denied)) {
    std::error_code error;
    if (entry.is_regular_file(error)) bytes += entry.file_size(error);
  }
  return bytes;
}

}  // namespace

Files::Files(const std::string& path, Problems& problems) : problems_(problems) {
  std::error_code error;
  if (!fs::exists(path, error)) throw InputError(path + ": no such file or folder");
  meter_.bytes_total = bytes_under(path);
  fs::path whole = fs::absolute(path).lexically_normal();
  if (!whole.has_filename()) whole = whole.parent_path();
  Entry first;
  first.name = whole.filename().string();
  const bool folder = fs::is_directory(whole);
  // The name of a lone file begins with its folder's name: for a dump that is the site.
  if (!folder && whole.parent_path().has_filename()) first.name = whole.parent_path().filename().string() + "/" + first.name;
  (folder ? first.folder : first.file) = whole;
  levels_.push_back(std::make_unique<One>(std::move(first)));
}

Files::~Files() {
  while (!levels_.empty()) levels_.pop_back();  // an archive inside an archive reads from the outer one
}

std::optional<InputFile> Files::next() {
  while (!levels_.empty()) {
    std::optional<Entry> entry;
    std::string name = levels_.back()->name();
    try {
      entry = levels_.back()->next();
      if (entry) {
        name = entry->name;
        if (auto file = open(std::move(*entry))) return file;
        continue;
      }
      levels_.pop_back();
    } catch (const StreamError& broken) {
      if (!entry) levels_.pop_back();  // the archive itself breaks off here
      problems_.report({name, 0, 0, broken.what()});
    } catch (const fs::filesystem_error& broken) {
      problems_.report({name, 0, 0, broken.code().message()});
    }
  }
  return std::nullopt;
}

std::optional<InputFile> Files::open(Entry entry) {
  if (!entry.folder.empty()) {
    levels_.push_back(std::make_unique<Folder>(entry.folder, entry.name));
    return std::nullopt;
  }
  if (!entry.member) entry.member = open_file(entry.file.string(), &meter_);
  auto content = decompressed(std::move(entry.member));
  if (TarReader::recognizes(content->peek(512))) {
    levels_.push_back(std::make_unique<Archive>(std::move(content), entry.name));
    return std::nullopt;
  }
  return InputFile{std::move(entry.name), std::move(content)};
}

}  // namespace datasets
