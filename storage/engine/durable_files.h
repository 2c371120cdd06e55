// Files and folders that a copy of a data directory is written to: private, and durable once they were synced.
//
// All functions throw OperationError: OutOfDiskSpace if the disk is full, InternalError if the file system refuses otherwise.
#pragma once

#include <filesystem>
#include <string>

#include "base/bytes.h"

namespace storage {

// Throws for a call that failed with `error` (errno). `doing` completes the sentence "cannot …".
[[noreturn]] void file_error(const std::string& doing, int error);

// This is an open file or folder. One thread at a time may use it.
class DurableFile {
 public:
  // `flags` are those of open(2).
  DurableFile(const std::filesystem::path& path, int flags);
  ~DurableFile();
  DurableFile(const DurableFile&) = delete;
  DurableFile& operator=(const DurableFile&) = delete;

  void write(base::BytesView bytes) const;                      // where the last call ended
  void write_at(uint64_t offset, base::BytesView bytes) const;  // in bytes from the beginning
  // Cuts the file, or makes it longer by zeros.
  void resize(uint64_t bytes) const;
  void sync() const;
  int descriptor() const { return file_; }

 private:
  const std::filesystem::path path_;
  const int file_;
};

void make_private_folder(const std::filesystem::path& path);  // does nothing if it exists
void sync_folder(const std::filesystem::path& path);          // makes the names of its entries durable
// Syncs all files and folders below `path`, and `path` itself.
void sync_tree(const std::filesystem::path& path);

// Syncs everything in the folder and moves it to `target`, which must not exist or be an empty folder.
void move_durably(const std::filesystem::path& folder, const std::filesystem::path& target);

// Returns the path without dots and without a slash at its end.
std::filesystem::path plain_path(const std::string& path);
// Throws BadValue unless a copy of a data directory may be made at `folder`: the path doesn't exist or is an empty folder, and
// the folder that it lies in exists.
void require_new_folder(const std::filesystem::path& folder);

// This is a folder that is made beside its final place, `final`.partial, and goes unless it was completed. One that a killed
// process left is replaced.
class PartialFolder {
 public:
  explicit PartialFolder(std::filesystem::path final_path);
  ~PartialFolder();
  PartialFolder(const PartialFolder&) = delete;
  PartialFolder& operator=(const PartialFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  // Syncs everything and moves the folder to its place, which must not exist or be empty.
  void complete();

 private:
  void remove();

  const std::filesystem::path final_, path_;
  bool moved_ = false;
};

}  // namespace storage
