#include "storage/upkeep/backup_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/error.h"
#include "storage/engine/engine.h"

namespace storage {
namespace {

namespace fs = std::filesystem;
using base::ErrorCode;
using base::OperationError;

constexpr uint64_t chunk_bytes = 1 << 20;
constexpr mode_t folder_mode = 0700, file_mode = 0600;  // it is as private as the data directory

[[noreturn]] void cannot(const std::string& doing, int error) {
  throw OperationError(error == ENOSPC || error == EDQUOT ? ErrorCode::out_of_disk_space : ErrorCode::internal_error,
                       "cannot " + doing + ": " + std::strerror(error));
}

[[noreturn]] void bad(const std::string& why) {
  throw OperationError(ErrorCode::bad_value, why);
}

class Descriptor {
 public:
  Descriptor(const fs::path& path, int flags) : path_(path), file_(::open(path.c_str(), flags | O_CLOEXEC, file_mode)) {
    if (file_ < 0) cannot("open " + path_.string(), errno);
  }
  ~Descriptor() { ::close(file_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  void write(base::BytesView bytes) const {
    while (!bytes.empty()) {
      const ssize_t done = ::write(file_, bytes.data(), bytes.size());
      if (done < 0 && errno == EINTR) continue;
      if (done < 0) cannot("write " + path_.string(), errno);
      bytes.remove_prefix(static_cast<size_t>(done));
    }
  }
  void sync() const {
    if (::fsync(file_) != 0) cannot("write " + path_.string(), errno);
  }

 private:
  const fs::path path_;
  const int file_;
};

void make_folder(const fs::path& path) {
  if (::mkdir(path.c_str(), folder_mode) != 0 && errno != EEXIST) cannot("make " + path.string(), errno);
}

void sync_folder(const fs::path& path) {
  Descriptor(path, O_RDONLY | O_DIRECTORY).sync();
}

bool lies_in(const fs::path& path, const fs::path& folder) {
  const auto [rest, at] = std::mismatch(path.begin(), path.end(), folder.begin(), folder.end());
  return at == folder.end();
}

void check(const fs::path& folder, const fs::path& dbpath) {
  if (!folder.is_absolute() || folder.string().find('\0') != std::string::npos) bad("a backup needs an absolute path");
  std::error_code error;
  if (!fs::is_directory(folder.parent_path(), error)) bad("the folder " + folder.parent_path().string() + " doesn't exist");
  if (lies_in(fs::weakly_canonical(folder, error), fs::canonical(dbpath, error))) bad("a backup can't lie in the data directory");
  const auto status = fs::symlink_status(folder, error);
  if (!fs::exists(status)) return;
  if (!fs::is_directory(status) || !fs::is_empty(folder, error) || error)
    bad(folder.string() + " exists, and is no empty folder");
}

// Removes the copy unless it was completed.
class Partial {
 public:
  explicit Partial(fs::path path) : path_(std::move(path)) {
    remove();
    make_folder(path_);
  }
  ~Partial() {
    if (!moved_) remove();
  }
  Partial(const Partial&) = delete;
  Partial& operator=(const Partial&) = delete;

  const fs::path& path() const { return path_; }
  void move_to(const fs::path& folder) {
    std::error_code error;
    fs::remove(folder, error);  // an empty one; if somebody used it since, the rename fails
    if (::rename(path_.c_str(), folder.c_str()) != 0) cannot("rename " + path_.string(), errno);
    moved_ = true;
  }

 private:
  void remove() {
    std::error_code error;
    fs::remove_all(path_, error);
  }

  const fs::path path_;
  bool moved_ = false;
};

}  // namespace

BackupFolder back_up_to_folder(Engine& engine, const std::string& folder, const std::function<void(uint64_t, uint64_t)>& copied) {
  fs::path to = fs::path(folder).lexically_normal();
  if (to.filename().empty()) to = to.parent_path();  // "/backups/monday/"
  check(to, engine.options().path);
  const Backup backup(engine);
  Partial partial(to.string() + ".partial");
  uint64_t bytes = 0;
  for (const BackupFile& file : backup.files()) {
    const fs::path path = partial.path() / file.name;
    make_folder(path.parent_path());
    const Descriptor out(path, O_WRONLY | O_CREAT | O_EXCL);
    for (uint64_t at = 0; at < file.bytes;) {
      const base::Bytes some = backup.read(file.name, at, chunk_bytes);
      out.write(some);
      at += some.size();
      bytes += some.size();
      copied(bytes, backup.total_bytes());
    }
    out.sync();
  }
  for (const auto& entry : fs::recursive_directory_iterator(partial.path())) {
    if (entry.is_directory()) sync_folder(entry.path());
  }
  sync_folder(partial.path());
  partial.move_to(to);
  sync_folder(to.parent_path());
  return {backup.files().size(), bytes};
}

}  // namespace storage
