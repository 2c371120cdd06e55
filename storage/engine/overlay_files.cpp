#include "storage/engine/overlay_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wiredtiger.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <vector>

#include "base/error.h"
#include "base/mutex.h"

namespace storage {
namespace {

constexpr char changed_suffix[] = ".changed";
constexpr uint64_t block_bytes = 512;  // the smallest unit in which tables are written

class Descriptor {
 public:
  explicit Descriptor(int file) : file_(file) {}
  ~Descriptor() {
    if (file_ >= 0) ::close(file_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return file_; }

 private:
  const int file_;
};

// Returns 0 or errno. What lies behind the file's end reads as zeros.
int read_all(int file, uint64_t offset, size_t bytes, char* out) {
  while (bytes > 0) {
    const ssize_t got = ::pread(file, out, bytes, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno;
    if (got == 0) {
      std::memset(out, 0, bytes);
      return 0;
    }
    out += got;
    offset += static_cast<uint64_t>(got);
    bytes -= static_cast<size_t>(got);
  }
  return 0;
}

int write_all(int file, uint64_t offset, size_t bytes, const char* from) {
  while (bytes > 0) {
    const ssize_t done = ::pwrite(file, from, bytes, static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return errno;
    from += done;
    offset += static_cast<uint64_t>(done);
    bytes -= static_cast<size_t>(done);
  }
  return 0;
}

// This is the content of a file, whoever has it open: one that is read through a link, or an ordinary one. Calls return 0 or
// errno.
class Content {
 public:
  Content(int file, int changes, uint64_t bytes) : file_(file), changes_(changes), base_bytes_(bytes), bytes_(bytes) {}
  bool linked() const { return changes_.get() >= 0; }
  int file() const { return file_.get(); }

  int read(uint64_t offset, size_t bytes, char* out) {
    const base::ReaderLock lock(mutex_);
    uint64_t size = 0;
    if (const int error = size_locked(size)) return error;
    if (offset > size || bytes > size - offset) return EINVAL;
    return linked() ? read_locked(offset, bytes, out) : read_all(file_.get(), offset, bytes, out);
  }

  int write(uint64_t offset, size_t bytes, const char* from) {
    const base::WriterLock lock(mutex_);
    if (!linked()) return write_all(file_.get(), offset, bytes, from);
    if (bytes == 0) return 0;
    const uint64_t first = offset / block_bytes, last = (offset + bytes - 1) / block_bytes;
    if (changed_.size() <= last) changed_.resize(last + 1);
    // Bytes before and behind them in their blocks come along.
    for (const uint64_t block : {first, last}) {
      if (changed_[block]) continue;
      char old[block_bytes];
      if (const int error = read_base(block * block_bytes, block_bytes, old)) return error;
      if (const int error = write_all(changes_.get(), block * block_bytes, block_bytes, old)) return error;
      changed_[block] = true;
    }
    if (const int error = write_all(changes_.get(), offset, bytes, from)) return error;
    std::fill(changed_.begin() + static_cast<ptrdiff_t>(first), changed_.begin() + static_cast<ptrdiff_t>(last) + 1, true);
    bytes_ = std::max(bytes_, offset + bytes);
    return 0;
  }

  int resize(uint64_t bytes) {
    const base::WriterLock lock(mutex_);
    if (!linked()) return ::ftruncate(file_.get(), static_cast<off_t>(bytes)) == 0 ? 0 : errno;
    base_bytes_ = std::min(base_bytes_, bytes);
    if (bytes < bytes_) {
      // Bytes behind the new end must read as zeros if the file grows again.
      if (::ftruncate(changes_.get(), static_cast<off_t>(bytes)) != 0) return errno;
      changed_.resize(std::min<size_t>(changed_.size(), (bytes + block_bytes - 1) / block_bytes));
    }
    bytes_ = bytes;
    return 0;
  }

  int size(uint64_t& bytes) {
    const base::ReaderLock lock(mutex_);
    return size_locked(bytes);
  }

 private:
  int size_locked(uint64_t& bytes) const REQUIRES_SHARED(mutex_) {
    if (linked()) {
      bytes = bytes_;
      return 0;
    }
    struct stat figures {};
    if (::fstat(file_.get(), &figures) != 0) return errno;
    bytes = static_cast<uint64_t>(figures.st_size);
    return 0;
  }

  int read_base(uint64_t offset, size_t bytes, char* out) const REQUIRES_SHARED(mutex_) {
    const size_t there = offset < base_bytes_ ? static_cast<size_t>(std::min<uint64_t>(bytes, base_bytes_ - offset)) : 0;
    if (const int error = read_all(file_.get(), offset, there, out)) return error;
    std::memset(out + there, 0, bytes - there);
    return 0;
  }

  bool changed(uint64_t block) const REQUIRES_SHARED(mutex_) { return block < changed_.size() && changed_[block]; }

  // Reads runs of blocks that come from one of the two files.
  int read_locked(uint64_t offset, size_t bytes, char* out) const REQUIRES_SHARED(mutex_) {
    while (bytes > 0) {
      const bool from_changes = changed(offset / block_bytes);
      uint64_t end = (offset / block_bytes + 1) * block_bytes;
      while (end < offset + bytes && changed(end / block_bytes) == from_changes) end += block_bytes;
      const size_t run = static_cast<size_t>(std::min<uint64_t>(bytes, end - offset));
      const int error = from_changes ? read_all(changes_.get(), offset, run, out) : read_base(offset, run, out);
      if (error) return error;
      out += run;
      offset += run;
      bytes -= run;
    }
    return 0;
  }

  const Descriptor file_, changes_;  // changes_ is -1 for an ordinary file
  base::SharedMutex mutex_;
  uint64_t base_bytes_ GUARDED_BY(mutex_);  // so much of the linked file still counts
  uint64_t bytes_ GUARDED_BY(mutex_);
  std::vector<bool> changed_ GUARDED_BY(mutex_);  // by block
};

}  // namespace

struct OverlayFiles::System : WT_FILE_SYSTEM {
  struct Handle : WT_FILE_HANDLE {
    std::shared_ptr<Content> content;
  };

  explicit System(std::string scratch);

  static System& of(WT_FILE_SYSTEM* self) { return *static_cast<System*>(self); }
  static Content& of(WT_FILE_HANDLE* self) { return *static_cast<Handle*>(self)->content; }

  int open(const char* name, uint32_t flags, std::shared_ptr<Content>& out);
  int list(const char* directory, const char* prefix, bool single, char*** names, uint32_t* count);

  const std::string scratch;
  base::Mutex mutex;
  // The contents of files that are read through links; they stay when nobody has them open.
  std::map<std::string, std::shared_ptr<Content>> linked GUARDED_BY(mutex);
};

namespace {

using System = OverlayFiles::System;

// wiredtiger_open finds the extension's function by name and gives it nothing else.
thread_local System* opening = nullptr;

struct Systems {
  base::Mutex mutex;
  std::map<std::string, System*> all GUARDED_BY(mutex);
};
Systems& systems() {
  static Systems systems;
  return systems;
}

int close_file(WT_FILE_HANDLE* handle, WT_SESSION*) {
  std::free(handle->name);
  delete static_cast<System::Handle*>(handle);
  return 0;
}

int lock_file(WT_FILE_HANDLE* handle, WT_SESSION*, bool lock) {
  struct flock range {};
  range.l_type = lock ? F_WRLCK : F_UNLCK;
  range.l_whence = SEEK_SET;
  range.l_len = 1;
  return ::fcntl(System::of(handle).file(), F_SETLK, &range) == 0 ? 0 : (errno == EAGAIN ? EBUSY : errno);
}

int read_file(WT_FILE_HANDLE* handle, WT_SESSION*, wt_off_t offset, size_t bytes, void* out) {
  return System::of(handle).read(static_cast<uint64_t>(offset), bytes, static_cast<char*>(out));
}

int write_file(WT_FILE_HANDLE* handle, WT_SESSION*, wt_off_t offset, size_t bytes, const void* from) {
  return System::of(handle).write(static_cast<uint64_t>(offset), bytes, static_cast<const char*>(from));
}

int file_size(WT_FILE_HANDLE* handle, WT_SESSION*, wt_off_t* size) {
  uint64_t bytes = 0;
  const int error = System::of(handle).size(bytes);
  *size = static_cast<wt_off_t>(bytes);
  return error;
}

int sync_file(WT_FILE_HANDLE*, WT_SESSION*) {
  return 0;  // nothing of the scratch directory is to survive
}

int truncate_file(WT_FILE_HANDLE* handle, WT_SESSION*, wt_off_t bytes) {
  return System::of(handle).resize(static_cast<uint64_t>(bytes));
}

int open_file(WT_FILE_SYSTEM* self, WT_SESSION*, const char* name, WT_FS_OPEN_FILE_TYPE, uint32_t flags, WT_FILE_HANDLE** out) {
  std::shared_ptr<Content> content;
  if (const int error = System::of(self).open(name, flags, content)) return error;
  auto handle = std::make_unique<System::Handle>();
  static_cast<WT_FILE_HANDLE&>(*handle) = {};
  handle->file_system = self;
  handle->name = ::strdup(name);
  handle->close = close_file;
  handle->fh_lock = lock_file;
  handle->fh_read = read_file;
  handle->fh_write = write_file;
  handle->fh_size = file_size;
  handle->fh_sync = sync_file;
  handle->fh_truncate = truncate_file;
  handle->content = std::move(content);
  *out = handle.release();
  return 0;
}

int exists(WT_FILE_SYSTEM*, WT_SESSION*, const char* name, bool* exists) {
  struct stat figures {};
  *exists = ::stat(name, &figures) == 0;
  return *exists || errno == ENOENT ? 0 : errno;
}

// A link goes; the file that it leads to stays.
int remove_file(WT_FILE_SYSTEM* self, WT_SESSION*, const char* name, uint32_t) {
  System& system = System::of(self);
  const base::MutexLock lock(system.mutex);
  if (system.linked.erase(name) > 0) ::unlink((std::string(name) + changed_suffix).c_str());
  return ::unlink(name) == 0 ? 0 : errno;
}

int rename_file(WT_FILE_SYSTEM* self, WT_SESSION*, const char* from, const char* to, uint32_t) {
  System& system = System::of(self);
  const base::MutexLock lock(system.mutex);
  if (::rename(from, to) != 0) return errno;
  system.linked.erase(to);
  if (auto moved = system.linked.extract(from)) {
    moved.key() = to;
    system.linked.insert(std::move(moved));
    if (::rename((std::string(from) + changed_suffix).c_str(), (std::string(to) + changed_suffix).c_str()) != 0) return errno;
  }
  return 0;
}

int size_of(WT_FILE_SYSTEM* self, WT_SESSION*, const char* name, wt_off_t* size) {
  std::shared_ptr<Content> content;
  if (const int error = System::of(self).open(name, WT_FS_OPEN_READONLY, content)) return error;
  uint64_t bytes = 0;
  const int error = content->size(bytes);
  *size = static_cast<wt_off_t>(bytes);
  return error;
}

int list_files(WT_FILE_SYSTEM* self, WT_SESSION*, const char* directory, const char* prefix, char*** names, uint32_t* count) {
  return System::of(self).list(directory, prefix, false, names, count);
}

int list_one(WT_FILE_SYSTEM* self, WT_SESSION*, const char* directory, const char* prefix, char*** names, uint32_t* count) {
  return System::of(self).list(directory, prefix, true, names, count);
}

int free_list(WT_FILE_SYSTEM*, WT_SESSION*, char** names, uint32_t count) {
  for (uint32_t i = 0; names && i < count; ++i) std::free(names[i]);
  std::free(names);
  return 0;
}

int end(WT_FILE_SYSTEM*, WT_SESSION*) {
  return 0;  // OverlayFiles owns it
}

}  // namespace

System::System(std::string directory) : WT_FILE_SYSTEM{}, scratch(std::move(directory)) {
  fs_directory_list = list_files;
  fs_directory_list_single = list_one;
  fs_directory_list_free = free_list;
  fs_exist = exists;
  fs_open_file = open_file;
  fs_remove = remove_file;
  fs_rename = rename_file;
  fs_size = size_of;
  terminate = end;
}

int System::open(const char* name, uint32_t flags, std::shared_ptr<Content>& out) {
  const base::MutexLock lock(mutex);
  if (const auto found = linked.find(name); found != linked.end()) {
    out = found->second;
    return 0;
  }
  struct stat figures {};
  const bool link = ::lstat(name, &figures) == 0 && S_ISLNK(figures.st_mode);
  if (link) {
    const int file = ::open(name, O_RDONLY | O_CLOEXEC);
    if (file < 0) return errno;
    const int changes = ::open((std::string(name) + changed_suffix).c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (changes < 0 || ::fstat(file, &figures) != 0) {
      const int error = errno;
      ::close(file);
      if (changes >= 0) ::close(changes);
      return error;
    }
    out = std::make_shared<Content>(file, changes, static_cast<uint64_t>(figures.st_size));
    linked[name] = out;
    return 0;
  }
  // WiredTiger opens directories only to sync them.
  int mode = (flags & WT_FS_OPEN_READONLY) != 0 ? O_RDONLY : O_RDWR;
  if ((flags & WT_FS_OPEN_CREATE) != 0) mode |= O_CREAT;
  if ((flags & WT_FS_OPEN_EXCLUSIVE) != 0) mode |= O_EXCL;
  int file = ::open(name, mode | O_CLOEXEC, 0600);
  if (file < 0 && errno == EISDIR) file = ::open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0) return errno;
  out = std::make_shared<Content>(file, -1, 0);
  return 0;
}

int System::list(const char* directory, const char* prefix, bool single, char*** names, uint32_t* count) {
  *names = nullptr;
  *count = 0;
  DIR* opened = ::opendir(directory);
  if (!opened) return errno;
  std::vector<std::string> found;
  while (const dirent* entry = ::readdir(opened)) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == ".." || name.ends_with(changed_suffix)) continue;
    if (prefix && !name.starts_with(prefix)) continue;
    found.emplace_back(name);
    if (single) break;
  }
  ::closedir(opened);
  if (found.empty()) return 0;
  *names = static_cast<char**>(std::calloc(found.size(), sizeof(char*)));
  if (!*names) return ENOMEM;
  for (const std::string& name : found) (*names)[(*count)++] = ::strdup(name.c_str());
  return 0;
}

OverlayFiles::OverlayFiles(std::string scratch) : system_(std::make_unique<System>(std::move(scratch))) {
  const base::MutexLock lock(systems().mutex);
  systems().all[system_->scratch] = system_.get();
}

OverlayFiles::~OverlayFiles() {
  const base::MutexLock lock(systems().mutex);
  systems().all.erase(system_->scratch);
}

std::string overlay_extension(const std::string& directory) {
  const base::MutexLock lock(systems().mutex);
  const auto found = systems().all.find(directory);
  if (found == systems().all.end()) return "";
  opening = found->second;
  return "local={entry=palimpsest_use_overlay_files,early_load=true}";
}

}  // namespace storage

// wiredtiger_open calls this function, which it finds by name, so no header declares it.
extern "C" __attribute__((visibility("default"))) int palimpsest_use_overlay_files(WT_CONNECTION* connection, WT_CONFIG_ARG*);

int palimpsest_use_overlay_files(WT_CONNECTION* connection, WT_CONFIG_ARG*) {
  return storage::opening ? connection->set_file_system(connection, storage::opening, nullptr) : WT_ERROR;
}
