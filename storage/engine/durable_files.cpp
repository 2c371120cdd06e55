#include "storage/engine/durable_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace storage {

namespace fs = std::filesystem;
using base::ErrorCode;
using base::OperationError;

namespace {

constexpr mode_t folder_mode = 0700, file_mode = 0600;  // a copy is as private as the data directory

[[noreturn]] void bad(const std::string& why) {
  throw OperationError(ErrorCode::bad_value, why);
}

}  // namespace

void file_error(const std::string& doing, int error) {
  throw OperationError(error == ENOSPC || error == EDQUOT ? ErrorCode::out_of_disk_space : ErrorCode::internal_error,
                       "cannot " + doing + ": " + std::strerror(error));
}

DurableFile::DurableFile(const fs::path& path, int flags)
    : path_(path), file_(::open(path.c_str(), flags | O_CLOEXEC, file_mode)) {
  if (file_ < 0) file_error("open " + path_.string(), errno);
}

DurableFile::~DurableFile() {
  ::close(file_);
}

void DurableFile::write(base::BytesView bytes) const {
  while (!bytes.empty()) {
    const ssize_t done = ::write(file_, bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) file_error("write " + path_.string(), errno);
    bytes.remove_prefix(static_cast<size_t>(done));
  }
}

void DurableFile::write_at(uint64_t offset, base::BytesView bytes) const {
  while (!bytes.empty()) {
    const ssize_t done = ::pwrite(file_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) file_error("write " + path_.string(), errno);
    bytes.remove_prefix(static_cast<size_t>(done));
    offset += static_cast<uint64_t>(done);
  }
}

void DurableFile::resize(uint64_t bytes) const {
  if (::ftruncate(file_, static_cast<off_t>(bytes)) != 0) file_error("write " + path_.string(), errno);
}

void DurableFile::sync() const {
  if (::fsync(file_) != 0) file_error("write " + path_.string(), errno);
}

void make_private_folder(const fs::path& path) {
  if (::mkdir(path.c_str(), folder_mode) != 0 && errno != EEXIST) file_error("make " + path.string(), errno);
}

void sync_folder(const fs::path& path) {
  DurableFile(path, O_RDONLY | O_DIRECTORY).sync();
}

void sync_tree(const fs::path& path) {
  for (const auto& entry : fs::recursive_directory_iterator(path)) {
    if (entry.is_directory()) {
      sync_folder(entry.path());
    } else {
      DurableFile(entry.path(), O_RDONLY).sync();
    }
  }
  sync_folder(path);
}

void move_durably(const fs::path& folder, const fs::path& target) {
  sync_tree(folder);
  std::error_code error;
  fs::remove(target, error);  // an empty one; if somebody used it since, the rename fails
  if (::rename(folder.c_str(), target.c_str()) != 0) file_error("rename " + folder.string(), errno);
  sync_folder(target.parent_path());
}

fs::path plain_path(const std::string& path) {
  const fs::path plain = fs::path(path).lexically_normal();
  return plain.filename().empty() ? plain.parent_path() : plain;  // "/backups/monday/"
}

void require_new_folder(const fs::path& folder) {
  std::error_code error;
  if (!fs::is_directory(folder.parent_path(), error)) bad("the folder " + folder.parent_path().string() + " doesn't exist");
  const auto status = fs::symlink_status(folder, error);
  if (!fs::exists(status)) return;
  if (!fs::is_directory(status) || !fs::is_empty(folder, error) || error)
    bad(folder.string() + " exists, and is no empty folder");
}

PartialFolder::PartialFolder(fs::path final_path) : final_(std::move(final_path)), path_(final_.string() + ".partial") {
  remove();
  make_private_folder(path_);
}

PartialFolder::~PartialFolder() {
  if (!moved_) remove();
}

void PartialFolder::complete() {
  move_durably(path_, final_);
  moved_ = true;
}

void PartialFolder::remove() {
  std::error_code error;
  fs::remove_all(path_, error);
}

}  // namespace storage
