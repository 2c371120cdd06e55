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
#include <set>

#include "base/error.h"
#include "storage/engine/directory.h"
#include "storage/engine/engine.h"
#include "storage/engine/engine_files.h"
#include "storage/engine/internals.h"
#include "storage/engine/table.h"
#include "storage/engine/unapplied_rows.h"

namespace storage {
namespace {

using base::Bytes;
using base::ErrorCode;
using base::OperationError;

constexpr char metadata_file[] = "WiredTiger.backup";
// WiredTiger keeps a bit for each block of a file, in the file's metadata, which every checkpoint writes: this is 25 KB for a
// table of 50 GB. Larger blocks would copy more for each changed row.
constexpr char block_size[] = "256KB";
// The table's rows are id -> the names of the files that the backup has, a line each, of the last backups that others may
// continue.
constexpr char links_table[] = "backups";

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

Table open_links(Engine& engine) {
  return engine.open_table(links_table, {.allocation_bytes = 512, .always_journaled = true});
}

// Removes all rows but the one with this key.
void remove_links(Transaction& transaction, const Table& links, BytesView but) {
  std::vector<Bytes> old;
  TableCursor cursor = links.cursor(transaction);
  while (cursor.next())
    if (cursor.key() != but) old.emplace_back(cursor.key());
  for (const Bytes& id : old) links.remove(transaction, id);
}

}  // namespace

void forget_backups(Engine& engine) {
  const std::vector<std::string> tables = engine.table_names();
  if (std::find(tables.begin(), tables.end(), links_table) == tables.end()) return;
  const Table links = open_links(engine);
  in_transaction(engine, [&](Transaction& transaction) { remove_links(transaction, links, {}); });
}

struct Backup::State {
  Engine& engine;
  std::string directory;
  BackupLink link;
  wt::Session session;
  wt::Cursor cursor;
  std::vector<BackupFile> files;
  std::map<std::string, uint64_t> sizes;
  std::set<std::string, std::less<>> before;                // the names of the files that the backup before has
  std::map<std::string, std::vector<BackupRange>> changed;  // Files that aren't in it are whole.
  std::map<std::string, Bytes> held;                        // These are the files as they were when the backup was opened.
  uint64_t bytes = 0;
  Stamp checkpointed;

  State(Engine& the_engine, const BackupLink& wanted)
      : engine(the_engine),
        directory(engine.options().path),
        link(wanted),
        session(engine.internals().connection.open_session()),
        checkpointed(engine.checkpointed_stamp()) {
    if (!link.from.empty()) recall();
    int result = open();
    if (result == ENOENT && !link.from.empty()) {  // WiredTiger has forgotten it
      wt::take_last_message();
      link.from.clear();
      before.clear();
      result = open();
    }
    if (result == EINVAL) {
      wt::take_last_message();
      throw OperationError(already_open, "The existing backup cursor must be closed before $backupCursor can succeed.");
    }
    wt::check(result, "opening a backup");
    list_engine_files();
    hold_own_files();
    for (const auto& [name, size] : sizes) {
      files.push_back({name, size});
      bytes += size;
    }
  }

  ~State() {
    cursor.reset();
    if (!link.id.empty()) remember();
  }

  int open() {
    std::string configuration;
    if (!link.id.empty()) {
      configuration = "incremental=(enabled=true,granularity=" + std::string(block_size) + ",this_id=\"" + link.id + "\"";
      if (!link.from.empty()) configuration += ",src_id=\"" + link.from + "\"";
      configuration += ")";
    }
    WT_CURSOR* raw = nullptr;
    const int result = session->open_cursor(session.get(), "backup:", nullptr, configuration.c_str(), &raw);
    if (result == 0) cursor.reset(raw);
    return result;
  }

  // Finds the files of the backup before. WiredTiger says for a file that was made since only which blocks were written.
  void recall() {
    const Table links = open_links(engine);
    Transaction transaction(engine, Transaction::Mode::read);
    const auto row = links.get(transaction, link.from);
    if (!row) return link.from.clear();
    for (BytesView rest = *row; !rest.empty();) {
      const size_t end = std::min(rest.find('\n'), rest.size());
      before.emplace(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }

  // If this fails, or the process ends before, the id is unknown and the next backup is a whole one. WiredTiger writes down the
  // new id with the next checkpoint.
  void remember() const {
    try {
      const Table links = open_links(engine);
      Bytes names;
      for (const BackupFile& file : files) names += file.name + "\n";
      in_transaction(engine, [&](Transaction& transaction) {
        remove_links(transaction, links, link.from);
        links.put(transaction, link.id, names);
      });
      engine.checkpoint();
    } catch (const std::exception&) {
      wt::take_last_message();
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
      if (before.contains(name)) find_changes(key, name);
    }
    if (result != WT_NOTFOUND) wt::fail(result, "reading the list of a backup");
    // This file is only for the copy: if it were in the directory and the process were lost, the next start would go back to this
    // checkpoint.
    std::optional<Bytes> metadata = whole(path(metadata_file));
    if (!metadata) cannot("open " + path(metadata_file), ENOENT);
    hold(metadata_file, std::move(*metadata));
    if (::unlink(path(metadata_file).c_str()) != 0) cannot("remove " + path(metadata_file), errno);
  }

  void find_changes(const char* key, const std::string& name) {
    WT_CURSOR* raw = nullptr;
    const std::string configuration = "incremental=(file=\"" + std::string(key) + "\")";
    wt::check(session->open_cursor(session.get(), nullptr, cursor.get(), configuration.c_str(), &raw),
              "reading a file's changes");
    const wt::Cursor changes(raw);
    const uint64_t size = sizes[name];
    std::vector<BackupRange> ranges;
    int result = 0;
    while ((result = changes->next(changes.get())) == 0) {
      uint64_t offset = 0, bytes = 0, type = 0;
      wt::check(changes->get_key(changes.get(), &offset, &bytes, &type), "reading a file's changes");
      if (type == WT_BACKUP_FILE) return;
      if (offset >= size) continue;  // the file has become shorter
      bytes = std::min(bytes, size - offset);
      if (!ranges.empty() && ranges.back().offset + ranges.back().bytes == offset) {
        ranges.back().bytes += bytes;
      } else {
        ranges.push_back({offset, bytes});
      }
    }
    if (result != WT_NOTFOUND) wt::fail(result, "reading a file's changes");
    changed[name] = std::move(ranges);
  }

  // These files are read after WiredTiger holds on to the tables, so that no page of the tables needs a dictionary that isn't in
  // these files.
  void hold_own_files() {
    for (const std::string& name : engine_entries(directory)) {
      if (name != directory_file && name != unapplied_file && !(name.starts_with("pages-") && name.ends_with(".dict"))) continue;
      if (std::optional<Bytes> content = whole(path(name))) hold(name, std::move(*content));
    }
  }
};

Backup::Backup(Engine& engine) : Backup(engine, {}) {}

Backup::Backup(Engine& engine, const BackupLink& link) {
  engine.checkpoint();
  state_ = std::make_unique<State>(engine, link);
}

Backup::~Backup() = default;

const std::vector<BackupFile>& Backup::files() const {
  return state_->files;
}
uint64_t Backup::total_bytes() const {
  return state_->bytes;
}
const BackupLink& Backup::link() const {
  return state_->link;
}
std::optional<std::vector<BackupRange>> Backup::changed(const std::string& name) const {
  const auto found = state_->changed.find(name);
  if (found == state_->changed.end()) return std::nullopt;
  return found->second;
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
