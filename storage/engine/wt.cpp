#include "storage/engine/wt.h"

#include <fcntl.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "base/mutex.h"
#include "storage/engine/damaged_replay.h"
#include "storage/engine/durable_files.h"
#include "storage/engine/journal_check.h"
#include "storage/engine/open_file_lock.h"
#include "storage/engine/overlay_files.h"
#include "storage/engine/transaction.h"

namespace storage::wt {
namespace {

using base::ErrorCode;
using base::OperationError;

thread_local std::string newest_message;

// mongod ends with this code if its storage engine can't go on.
constexpr int exit_abrupt = 14;
constexpr int32_t in_use = 98;  // DBPathInUse
constexpr int32_t too_many_files_open = 264;
constexpr int log_damaged_page = 7200503;

[[noreturn]] void stop_process(const std::string& what) {
  base::log(base::Severity::fatal, base::LogComponent::storage, 22436,
            "The storage engine cannot go on; stopping. The next start recovers what was acknowledged from the journal",
            base::Attributes().add("error", what));
  std::_Exit(exit_abrupt);
}

}  // namespace

struct Connection::Events : WT_EVENT_HANDLER {
  explicit Events(base::Clock& its_clock) : WT_EVENT_HANDLER{on_error, on_message, nullptr, nullptr, nullptr}, clock(its_clock) {}

  static int on_error(WT_EVENT_HANDLER* self, WT_SESSION*, int error, const char* message);
  static int on_message(WT_EVENT_HANDLER*, WT_SESSION*, const char* message);

  // Returns false if the same was said less than ten seconds ago: each use of a file that can't be opened says so again.
  bool is_news(std::string_view message);

  base::Clock& clock;
  bool may_salvage = false;  // the files are being opened, and a failure is no end
  DamagedPages damaged;
  base::Mutex mutex;
  std::map<std::string, int64_t> said GUARDED_BY(mutex);  // when it was said last, in microseconds
};

namespace {

// WiredTiger dumps a damaged page in lines of 3 KB: "... {0: 8192, 4096, 0x1234}: (chunk 1 of 4): 00 00 ...".
bool dumps_a_page(std::string_view message) {
  return message.find("}: (chunk ") != message.npos || message.find("}: empty buffer, no dump") != message.npos;
}

// WiredTiger says so behind the message about the cause, for each change that it can't apply.
bool is_of_replay(std::string_view message) {
  return message.find("operation apply failed during recovery: ") != message.npos;
}

}  // namespace

int Connection::Events::on_error(WT_EVENT_HANDLER* self, WT_SESSION*, int error, const char* message) {
  if (error == WT_PANIC && !static_cast<Events*>(self)->may_salvage) stop_process(message);
  if (const auto page = damaged_page(message)) {
    if (!dumps_a_page(message)) newest_message = message;
    // A page that is read again and again is worth one line.
    if (!static_cast<Events*>(self)->damaged.add(*page)) return 0;
    base::log(base::Severity::error, base::LogComponent::storage, log_damaged_page,
              "A page of a table is damaged on disk. Operations that need it fail with DataCorruptionDetected; "
              "validate with {full: true} says what is concerned",
              base::Attributes().add("table", page->table).add("offset", page->offset).add("bytes", page->bytes));
    return 0;
  }
  if (dumps_a_page(message) || is_of_replay(message)) return 0;
  newest_message = message;
  // A conflict is an answer, and isn't worth a line in the log.
  if (error != WT_ROLLBACK && error != EBUSY && static_cast<Events*>(self)->is_news(message)) {
    base::log(base::Severity::error, base::LogComponent::storage, 22435, "WiredTiger error",
              base::Attributes().add("error", static_cast<int32_t>(error)).add("message", message));
  }
  return 0;
}

bool Connection::Events::is_news(std::string_view message) {
  constexpr std::string_view behind_time_and_thread = "]: ";
  constexpr size_t said_max = 100;
  constexpr int64_t again_us = 10'000'000;
  if (const size_t at = message.find(behind_time_and_thread); at != message.npos) message.remove_prefix(at);
  const int64_t now_us = clock.monotonic_us();
  const base::MutexLock lock(mutex);
  std::erase_if(said, [&](const auto& one) { return now_us - one.second >= again_us; });
  return said.size() >= said_max || said.emplace(message, now_us).second;
}

int Connection::Events::on_message(WT_EVENT_HANDLER*, WT_SESSION*, const char* message) {
  if (base::log_enabled(base::Severity::debug1, base::LogComponent::storage)) {
    base::log(base::Severity::debug1, base::LogComponent::storage, 22430, "WiredTiger message",
              base::Attributes().add("message", message));
  }
  return 0;
}

namespace {

std::string describe(int result, std::string_view doing) {
  std::string text = wiredtiger_strerror(result);
  text.append(" while ").append(doing);
  if (std::string detail = take_last_message(); !detail.empty()) text.append(": ").append(detail);
  return text;
}

}  // namespace

std::string take_last_message() {
  return std::exchange(newest_message, {});
}

const std::string& last_message() {
  return newest_message;
}
void set_last_message(std::string_view message) {
  newest_message = message;
}

void page_unreadable(std::string_view why) {
  if (!damaged_page(newest_message)) newest_message = why;
}

void fail(int result, std::string_view doing) {
  switch (result) {
    case WT_ROLLBACK: throw WriteConflict();
    case WT_PANIC: stop_process(describe(result, doing));
    case ENOSPC:
    case EDQUOT: throw OperationError(ErrorCode::out_of_disk_space, "No space left on device while " + std::string(doing));
    case ENOMEM: throw OperationError(ErrorCode::exceeded_memory_limit, "out of memory while " + std::string(doing));
    case EMFILE:
    case ENFILE: throw OperationError(too_many_files_open, "Too many open files while " + std::string(doing));
    case WT_TRY_SALVAGE:
    case WT_ERROR:
    case EIO:
    case ENOENT:  // a file of the directory is missing
      throw OperationError(ErrorCode::data_corruption_detected, describe(result, doing));
    default: throw OperationError(ErrorCode::internal_error, describe(result, doing));
  }
}

void check(int result, std::string_view doing) {
  if (result != 0) [[unlikely]]
    fail(result, doing);
}

namespace {

// If there is no turtle file, WiredTiger uses the draft of it, whatever the draft holds: a server that crashed while it wrote its
// first turtle file couldn't start any more. A whole draft ends with the metadata file's line and its value.
void drop_half_a_turtle(const std::string& path) {
  constexpr std::string_view last_key = "\nfile:WiredTiger.wt\n";
  const std::string turtle = path + "/WiredTiger.turtle", draft = turtle + ".set";
  std::error_code error;
  if (std::filesystem::exists(turtle, error) || !std::filesystem::exists(draft, error)) return;
  std::ifstream in(draft, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const size_t key = text.find(last_key);
  if (key != std::string::npos && key + last_key.size() < text.size() && text.back() == '\n') return;
  std::filesystem::remove(draft, error);
}

// A directory for copies of WiredTiger's own files, which is removed in the end.
class WorkingDirectory {
 public:
  explicit WorkingDirectory(const std::filesystem::path& parent) : path_(parent / "_damaged") {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
    std::filesystem::create_directory(path_);
  }
  WorkingDirectory(const WorkingDirectory&) = delete;
  WorkingDirectory& operator=(const WorkingDirectory&) = delete;
  ~WorkingDirectory() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }

  const std::filesystem::path& path() const { return path_; }

 private:
  const std::filesystem::path path_;
};

// Copies of WiredTiger's own files while they are salvaged.
class DamagedFiles {
 public:
  explicit DamagedFiles(const std::string& path) : path_(path), copies_(path_) {
    for (const auto& file : std::filesystem::directory_iterator(path_)) {
      const std::string name = file.path().filename();
      if (name.starts_with("WiredTiger") && name != "WiredTiger.lock" && !name.starts_with(metadata_copy_file))
        std::filesystem::copy_file(file.path(), copies_.path() / name);
    }
  }

  bool set_history_aside() const {
    std::error_code error;
    return std::filesystem::remove(path_ / "WiredTigerHS.wt", error);
  }
  void bring_back() const {
    for (const auto& file : std::filesystem::directory_iterator(copies_.path())) {
      std::filesystem::copy_file(file.path(), path_ / file.path().filename(), std::filesystem::copy_options::overwrite_existing);
    }
  }

 private:
  const std::filesystem::path path_;
  const WorkingDirectory copies_;
};

// Returns whether there are files of tables of which nothing is known any more.
bool has_lost_tables(const std::string& path, WT_CONNECTION* connection) {
  std::set<std::string> known;
  WT_SESSION* raw = nullptr;
  check(connection->open_session(connection, nullptr, nullptr, &raw), "opening a session");
  const Session session(raw);
  {
    const Cursor metadata = open_cursor(session.get(), "metadata:");
    while (metadata->next(metadata.get()) == 0) {
      const char* key = nullptr;
      check(metadata->get_key(metadata.get(), &key), "reading the metadata");
      constexpr std::string_view prefix = "file:";
      if (std::string_view(key).starts_with(prefix)) known.emplace(key + prefix.size());
    }
  }
  for (const auto& file : std::filesystem::directory_iterator(path)) {
    const std::string name = file.path().filename();
    if (name.ends_with(".wt") && !name.starts_with("WiredTiger") && !known.contains(name)) return true;
  }
  return false;
}

// WiredTiger says when it has read all of its metadata, before it looks at anything else.
struct MetadataReader : WT_EVENT_HANDLER {
  MetadataReader() : WT_EVENT_HANDLER{on_text, on_message, nullptr, nullptr, on_event} {}

  static int on_text(WT_EVENT_HANDLER*, WT_SESSION*, int, const char*) { return 0; }
  static int on_message(WT_EVENT_HANDLER*, WT_SESSION*, const char*) { return 0; }
  static int on_event(WT_EVENT_HANDLER* self, WT_CONNECTION*, WT_SESSION*, WT_EVENT_TYPE event, void*) {
    if (event == WT_EVENT_CONN_READY) static_cast<MetadataReader*>(self)->has_read = true;
    return 0;
  }

  bool has_read = false;
};

// A copy is looked at, because WiredTiger changes what it opens. Throws filesystem_error if the disk is full.
bool is_metadata_sound(const std::string& path, const std::string& config) {
  namespace fs = std::filesystem;
  const WorkingDirectory copy(path);
  for (const char* name : {"WiredTiger", "WiredTiger.turtle", "WiredTiger.wt"}) {
    const fs::path file = fs::path(path) / name;
    if (!fs::exists(file)) continue;
    std::error_code error;
    fs::copy_file(file, copy.path() / name, error);
    if (error == std::errc::io_error) return false;
    if (error) throw fs::filesystem_error("cannot copy", file, copy.path() / name, error);
  }
  MetadataReader reader;
  WT_CONNECTION* opened = nullptr;
  // WiredTiger doesn't free what a connection has that met damage. Without a journal and many sessions that is little.
  const std::string checking = config + ",verify_metadata=true,log=(enabled=false),session_max=100";
  if (wiredtiger_open(copy.path().c_str(), &reader, checking.c_str(), &opened) == 0) opened->close(opened, nullptr);
  return reader.has_read;
}

[[noreturn]] void refuse_metadata() {
  throw OperationError(
      ErrorCode::data_corruption_detected,
      "WiredTiger's metadata (WiredTiger.wt) is damaged, and so is its copy, or it is of another checkpoint. Nothing "
      "says which rows of which tables a salvage would show: restore a backup, or copy the data of another member");
}

// Without its turtle WiredTiger takes a directory for a new one, and makes its tables anew.
void require_turtle(const std::string& path) {
  namespace fs = std::filesystem;
  const fs::path turtle = fs::path(path) / "WiredTiger.turtle";
  if (fs::exists(turtle) || fs::exists(turtle.string() + ".set")) return;
  for (const auto& file : fs::directory_iterator(path)) {
    const std::string name = file.path().filename();
    if (name.ends_with(".wt") && !name.starts_with("WiredTiger"))
      throw OperationError(
          ErrorCode::data_corruption_detected,
          "WiredTiger's metadata is lost: WiredTiger.turtle is missing, and the copy of the metadata is missing or "
          "of another checkpoint. Restore a backup, or copy the data of another member");
  }
}

// While it is held, no other process opens the directory.
std::string lock_of(const std::string& path) {
  return path + "/WiredTiger.lock";
}

}  // namespace

int Connection::open(const std::string& path, const std::string& config, UnappliedRows& unapplied) {
  const DamagedReplay replay(unapplied);
  return wiredtiger_open(path.c_str(), events_.get(), config.c_str(), &connection_);
}

// If WiredTiger's files or journal are damaged, WiredTiger salvages them. It doesn't salvage the file with older versions of
// rows, but makes that file anew if it is missing.
//
// A salvage of the metadata is no salvation: it takes an older page for one that can't be read, so that some tables go back to
// an earlier checkpoint and others don't, or are lost. Whoever opened the directory then would take this for what there is. So
// it isn't begun, and if tables are lost all the same, the damaged files come back.
int Connection::salvage(const std::string& path, const std::string& config, UnappliedRows& unapplied) {
  base::log(base::Severity::warning, base::LogComponent::storage, 22348, "WiredTiger can't open its files, so they are salvaged",
            base::Attributes().add("error", take_last_message()));
  const std::string salvaging = config + ",salvage=true";
  if (!is_metadata_sound(path, config)) refuse_metadata();
  const DamagedFiles damaged(path);
  DurableFile(path + "/" + salvaged_file, O_WRONLY | O_CREAT).sync();
  sync_folder(path);
  int result = open(path, salvaging, unapplied);
  if (result != 0 && damaged.set_history_aside()) {
    base::log(base::Severity::warning, base::LogComponent::storage, 22349, "The file of older versions of rows is made anew",
              base::Attributes().add("error", take_last_message()));
    result = open(path, salvaging, unapplied);
  }
  if (result != 0) {
    damaged.bring_back();
    return result;
  }
  if (!has_lost_tables(path, connection_)) return 0;
  connection_->close(std::exchange(connection_, nullptr), nullptr);
  damaged.bring_back();
  refuse_metadata();
}

// While another process has the directory, nothing of it is restored; opening it says so.
void Connection::restore_metadata(const std::string& path, const std::string& config) {
  const OpenFileLock lock(lock_of(path), OpenFileLock::Kind::exclusive);
  if (lock.held()) metadata_copy_->restore([&] { return is_metadata_sound(path, config); });
}

Connection::Connection(base::Clock& clock, const std::string& path, const std::string& config, UnappliedRows& unapplied,
                       bool may_salvage)
    : events_(std::make_unique<Events>(clock)) {
  drop_half_a_turtle(path);
  take_last_message();
  // The files of another directory are neither changed nor copied.
  if (overlay_extension(path).empty()) metadata_copy_.emplace(path);
  events_->may_salvage = may_salvage;
  int result = 0;
  // A backup has its metadata in another form, and its journal was copied while it was written, so the end may be anything.
  if (const bool backup = std::filesystem::exists(path + "/WiredTiger.backup"); !backup) {
    if (metadata_copy_) restore_metadata(path, config);
    require_turtle(path);
    if (std::string damage = journal_damage(path); !damage.empty()) {
      newest_message = damage;
      result = WT_TRY_SALVAGE;
      if (!may_salvage)
        throw OperationError(ErrorCode::data_corruption_detected,
                             damage + ": restore a backup, copy the data of another member, or let --repair go on without it");
    }
  }
  if (result == 0) result = open(path, config, unapplied);
  if (may_salvage && result != 0 && result != EBUSY) result = salvage(path, config, unapplied);
  events_->may_salvage = false;
  if (result == EBUSY) {
    throw OperationError(in_use, "the data directory " + path + " is in use by another process");
  }
  check(result, "opening " + path);
}

Connection::~Connection() {
  if (!connection_) return;
  if (const int result = connection_->close(connection_, nullptr); result != 0) {
    base::log(base::Severity::error, base::LogComponent::storage, 22437,
              "Closing WiredTiger failed; the journal has what is missing",
              base::Attributes().add("error", wiredtiger_strerror(result)));
  }
  if (!metadata_copy_ || metadata_copy_->given_up()) return;
  const OpenFileLock lock(lock_of(metadata_copy_->directory()), OpenFileLock::Kind::exclusive);
  if (lock.held()) metadata_copy_->take();
}

void Connection::copy_metadata() {
  if (metadata_copy_) metadata_copy_->take();
}

bool Connection::give_metadata_copy_up() {
  return metadata_copy_ && metadata_copy_->give_up();
}

uint64_t Connection::metadata_bytes() const {
  return metadata_copy_ ? metadata_copy_->metadata_bytes() : 0;
}

DamagedPages& Connection::damaged_pages() const {
  return events_->damaged;
}

Session Connection::open_session(const char* config) const {
  WT_SESSION* session = nullptr;
  check(connection_->open_session(connection_, nullptr, config, &session), "opening a session");
  return Session(session);
}

Cursor open_cursor(WT_SESSION* session, const std::string& uri, const char* config) {
  WT_CURSOR* cursor = nullptr;
  check(session->open_cursor(session, uri.c_str(), nullptr, config, &cursor), "opening a cursor on " + uri);
  return Cursor(cursor);
}

base::BytesView get_key(WT_CURSOR* cursor) {
  WT_ITEM raw;
  check(cursor->get_key(cursor, &raw), "reading a key");
  return view(raw);
}

base::BytesView get_value(WT_CURSOR* cursor) {
  WT_ITEM raw;
  check(cursor->get_value(cursor, &raw), "reading a value");
  return view(raw);
}

}  // namespace storage::wt
