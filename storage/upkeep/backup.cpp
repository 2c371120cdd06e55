#include "storage/upkeep/backup.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>

#include "base/error.h"
#include "storage/engine/directory.h"
#include "storage/engine/engine.h"
#include "storage/engine/engine_files.h"
#include "storage/engine/internals.h"

namespace storage {
namespace {

using base::Bytes;
using base::ErrorCode;
using base::OperationError;

constexpr char metadata_file[] = "WiredTiger.backup";

[[noreturn]] void cannot(const std::string& doing, int error) {
  throw OperationError(ErrorCode::internal_error, "cannot " + doing + ": " + std::strerror(error));
}

class OpenFile {
 public:
  explicit OpenFile(const std::string& path) : file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~OpenFile() {
    if (file_ >= 0) ::close(file_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  int get() const { return file_; }

 private:
  const int file_;
};

void read_at(const OpenFile& file, const std::string& path, uint64_t offset, Bytes& out) {
  for (size_t done = 0; done < out.size();) {
    const ssize_t got = ::pread(file.get(), out.data() + done, out.size() - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) cannot("read " + path, errno);
    if (got == 0) throw OperationError(ErrorCode::internal_error, path + " became shorter while it was copied");
    done += static_cast<size_t>(got);
  }
}

// nullopt means that there is no such file.
std::optional<Bytes> whole(const std::string& path) {
  const OpenFile file(path);
  if (file.get() < 0 && errno == ENOENT) return std::nullopt;
  if (file.get() < 0) cannot("open " + path, errno);
  struct stat figures {};
  if (::fstat(file.get(), &figures) != 0) cannot("look at " + path, errno);
  Bytes out(static_cast<size_t>(figures.st_size), '\0');
  read_at(file, path, 0, out);
  return out;
}

// WiredTiger names the journal's files without their directory.
std::string placed(const std::string& name) {
  return name.starts_with("WiredTigerLog.") ? std::string(journal_directory) + "/" + name : name;
}

}  // namespace

struct Backup::State {
  std::string directory;
  wt::Session session;
  wt::Cursor cursor;
  std::vector<BackupFile> files;
  std::map<std::string, uint64_t> sizes;
  std::map<std::string, Bytes> held;  // These are the files as they were when the backup was opened.
  uint64_t bytes = 0;
  Stamp checkpointed;

  explicit State(Engine& engine)
      : directory(engine.options().path),
        session(engine.internals().connection.open_session()),
        checkpointed(engine.checkpointed_stamp()) {
    WT_CURSOR* raw = nullptr;
    const int result = session->open_cursor(session.get(), "backup:", nullptr, nullptr, &raw);
    if (result == EINVAL) {
      wt::take_last_message();
      throw OperationError(already_open, "The existing backup cursor must be closed before $backupCursor can succeed.");
    }
    wt::check(result, "opening a backup");
    cursor.reset(raw);
    list_engine_files();
    hold_own_files();
    for (const auto& [name, size] : sizes) {
      files.push_back({name, size});
      bytes += size;
    }
  }

  std::string path(const std::string& name) const { return directory + "/" + name; }

  void hold(const std::string& name, Bytes content) {
    sizes[name] = content.size();
    held[name] = std::move(content);
  }

  void list_engine_files() {
    int result = 0;
    while ((result = cursor->next(cursor.get())) == 0) {
      const char* key = nullptr;
      wt::check(cursor->get_key(cursor.get(), &key), "reading the list of a backup");
      const std::string name = placed(key);
      if (!is_engine_file(name)) throw OperationError(ErrorCode::internal_error, "a backup can't copy the file " + name);
      struct stat figures {};
      if (::stat(path(name).c_str(), &figures) != 0) cannot("look at " + path(name), errno);
      sizes[name] = static_cast<uint64_t>(figures.st_size);
    }
    if (result != WT_NOTFOUND) wt::fail(result, "reading the list of a backup");
    // This file is only for the copy: if it were in the directory and the process were lost, the next start would go back to this
    // checkpoint.
    std::optional<Bytes> metadata = whole(path(metadata_file));
    if (!metadata) cannot("open " + path(metadata_file), ENOENT);
    hold(metadata_file, std::move(*metadata));
    if (::unlink(path(metadata_file).c_str()) != 0) cannot("remove " + path(metadata_file), errno);
  }

  // These files are read after WiredTiger holds on to the tables, so that no page of the tables needs a dictionary that isn't in
  // these files.
  void hold_own_files() {
    for (const std::string& name : engine_entries(directory)) {
      if (name != directory_file && !(name.starts_with("pages-") && name.ends_with(".dict"))) continue;
      if (std::optional<Bytes> content = whole(path(name))) hold(name, std::move(*content));
    }
  }
};

Backup::Backup(Engine& engine) {
  engine.checkpoint();
  state_ = std::make_unique<State>(engine);
}

Backup::~Backup() = default;

const std::vector<BackupFile>& Backup::files() const {
  return state_->files;
}
uint64_t Backup::total_bytes() const {
  return state_->bytes;
}
Stamp Backup::checkpointed_stamp() const {
  return state_->checkpointed;
}

Bytes Backup::read(const std::string& name, uint64_t offset, uint64_t bytes) const {
  const auto size = state_->sizes.find(name);
  if (size == state_->sizes.end()) throw OperationError(ErrorCode::no_such_key, "the backup has no file '" + name + "'");
  if (offset > size->second) {
    throw OperationError(ErrorCode::bad_value, "offset " + std::to_string(offset) + " is beyond the end of '" + name + "'");
  }
  const uint64_t count = std::min(bytes, size->second - offset);
  if (const auto held = state_->held.find(name); held != state_->held.end()) return held->second.substr(offset, count);
  const std::string path = state_->path(name);
  const OpenFile file(path);
  if (file.get() < 0) cannot("open " + path, errno);
  Bytes out(count, '\0');
  read_at(file, path, offset, out);
  return out;
}

}  // namespace storage
