#include "server/peers/initial_sync.h"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>

#include "base/log.h"
#include "bson/validate.h"
#include "server/peers/backup_host.h"
#include "server/peers/file_blocks.h"
#include "storage/engine/directory.h"
#include "storage/engine/engine_files.h"
#include "storage/upkeep/replace_directory.h"

namespace server::peers {
namespace {

using base::Attributes;
using base::Bytes;
using base::BytesView;
using base::ErrorCode;
using base::LogComponent;
using base::OperationError;
using base::Severity;

constexpr int bad_reads_max = 3;  // in a row, of one part of a file
constexpr size_t attempts_shown = 10;

bool is(const OperationError& error, int32_t code) {
  return static_cast<int32_t>(error.code()) == code;
}

// Returns whether the connection failed, in contrast to an error that the source answers with.
bool broke(const OperationError& error) {
  static constexpr int32_t codes[] = {6, 7, 17, 89, 91, 9001, 11600};
  return std::any_of(std::begin(codes), std::end(codes), [&](int32_t code) { return is(error, code); });
}

[[noreturn]] void strange(const std::string& what) {
  throw OperationError(ErrorCode::failed_to_parse, "the sync source's answer makes no sense: " + what);
}

int64_t number(bson::DocumentView reply, std::string_view name) {
  const auto field = reply.find(name);
  if (!field.is_integer() || field.to_int64() < 0) strange("no field '" + std::string(name) + "'");
  return field.to_int64();
}

// This member's disk has no room for the copy. A source whose disk is full has the same code.
struct NoRoom : OperationError {
  explicit NoRoom(const std::string& what) : OperationError(ErrorCode::out_of_disk_space, what) {}
};

[[noreturn]] void cannot(const std::string& doing, int error) {
  const std::string what = "cannot " + doing + ": " + std::strerror(error);
  if (error == ENOSPC || error == EDQUOT) throw NoRoom(what);
  throw OperationError(ErrorCode::internal_error, what);
}

template <class Work>
void on_own_disk(Work work) {
  try {
    work();
  } catch (const OperationError& error) {
    if (error.code() == ErrorCode::out_of_disk_space) throw NoRoom(error.what());
    throw;
  }
}

class NewFile {
 public:
  explicit NewFile(std::string path)
      : path_(std::move(path)), file_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)) {
    if (file_ < 0) cannot("create " + path_, errno);
  }
  ~NewFile() { ::close(file_); }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void append(base::BytesView bytes) {
    while (!bytes.empty()) {
      const ssize_t written = ::write(file_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) cannot("write " + path_, written < 0 ? errno : ENOSPC);
      bytes.remove_prefix(static_cast<size_t>(written));
    }
  }
  // Zeros aren't written: a hole in a file reads as zeros.
  void skip(uint64_t zeros) {
    if (::lseek(file_, static_cast<off_t>(zeros), SEEK_CUR) < 0) cannot("extend " + path_, errno);
  }
  void end(uint64_t bytes) {
    if (::ftruncate(file_, static_cast<off_t>(bytes)) != 0) cannot("extend " + path_, errno);
    if (::fsync(file_) != 0) cannot("sync " + path_, errno);
  }

 private:
  const std::string path_;
  const int file_;
};

// A file of the directory that the copy is to replace. The engine may be writing to it, and it may be damaged.
class OwnFile {
 public:
  explicit OwnFile(const std::string& path) : file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~OwnFile() {
    if (file_ >= 0) ::close(file_);
  }
  OwnFile(const OwnFile&) = delete;
  OwnFile& operator=(const OwnFile&) = delete;

  // Returns fewer bytes at the file's end, and where it can't be read; none if there is no such file.
  Bytes read(uint64_t offset, uint64_t bytes) const {
    Bytes out;
    if (file_ < 0) return out;
    out.resize(bytes);
    size_t done = 0;
    while (done < bytes) {
      const ssize_t count = ::pread(file_, out.data() + done, bytes - done, static_cast<off_t>(offset + done));
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) break;
      done += static_cast<size_t>(count);
    }
    out.resize(done);
    return out;
  }

 private:
  const int file_;
};

Bytes encode(const CopyOrigin& origin) {
  bson::Builder out;
  out.append("term", static_cast<int64_t>(origin.vote.term)).append("vote", static_cast<int64_t>(origin.vote.vote));
  out.append("source", origin.source).append("time", bson::Date{origin.time_ms});
  return out.done().bytes();
}

}  // namespace

InitialSync::InitialSync(base::Clock& clock, InitialSyncOptions options, InitialSyncNeeds needs)
    : options_(std::move(options)),
      needs_(std::move(needs)),
      clock_(clock),
      started_wall_ms_(clock.wall_ms()),
      started_us_(clock.monotonic_us()) {}

void InitialSync::interrupt() {
  {
    const base::MutexLock lock(mutex_);
    interrupted_ = true;
  }
  woken_.notify_all();
}

void InitialSync::check_interrupt() const {
  const base::MutexLock lock(mutex_);
  if (interrupted_) throw OperationError(ErrorCode::interrupted_at_shutdown, "initial sync was interrupted");
}

void InitialSync::pause(int64_t ms) {
  {
    base::MutexLock lock(mutex_);
    woken_.wait_for(lock, std::chrono::milliseconds(ms), [this]() REQUIRES(mutex_) { return interrupted_; });
  }
  check_interrupt();
}

void InitialSync::run() {
  for (;;) {
    const std::string source = await_source();
    const int64_t begun_us = clock_.monotonic_us();
    {
      const base::MutexLock lock(mutex_);
      now_ = {.status = "", .source = source};
    }
    base::log(Severity::info, LogComponent::repl, 21164, "Initial sync attempt begins", Attributes().add("syncSource", source));
    std::string reason;
    try {
      attempt(source);
      const base::MutexLock lock(mutex_);
      ended_us_ = clock_.monotonic_us();
      base::log(Severity::info, LogComponent::repl, 21163,
                "Initial sync is complete; the data takes its place when the process is started anew",
                Attributes()
                    .add("syncSource", source)
                    .add("bytes", bytes_copied_)
                    .add("ownBytes", bytes_own_)
                    .add("durationMillis", (ended_us_ - begun_us) / 1000));
      return;
    } catch (const NoRoom& error) {
      await_room(error.what());
      continue;
    } catch (const OperationError& error) {
      check_interrupt();
      if (is(error, BackupHost::busy)) {  // no failure: another member came first
        pause(options_.pause_ms);
        continue;
      }
      reason = base::code_name(error.code()) + ": " + error.what();
    }
    std::string all;
    {
      const base::MutexLock lock(mutex_);
      now_.status = reason;
      now_.duration_ms = (clock_.monotonic_us() - begun_us) / 1000;
      failed_.push_back(std::move(now_));
      now_ = {};
      bytes_copied_ = bytes_own_ = bytes_total_ = files_copied_ = files_total_ = 0;
      if (failed_.size() >= static_cast<size_t>(options_.attempts_max)) {
        for (const Attempt& each : failed_) all += "; " + each.source + ": " + each.status;
      }
    }
    base::log(Severity::error, LogComponent::repl, 21200, "Initial sync attempt failed",
              Attributes().add("syncSource", source).add("error", reason));
    if (!all.empty()) {
      throw OperationError(ErrorCode::operation_failed,
                           "The maximum number of retries have been exhausted for initial sync" + all);
    }
    pause(options_.pause_ms);
  }
}

std::string InitialSync::await_source() {
  for (;;) {
    check_interrupt();
    if (const auto source = needs_.source()) return *source;
    pause(options_.pause_ms);
  }
}

// Repeats the call for a while if the connection breaks.
bson::Document InitialSync::call(const std::string& source, bson::DocumentView command) {
  for (std::optional<int64_t> away_since_us;;) {
    check_interrupt();
    try {
      bson::Document reply = needs_.call(source, command);
      if (away_since_us) {
        const base::MutexLock lock(mutex_);
        now_.unreachable_ms += (clock_.monotonic_us() - *away_since_us) / 1000;
      }
      return reply;
    } catch (const OperationError& error) {
      check_interrupt();
      if (!broke(error)) throw;
      if (!away_since_us) away_since_us = clock_.monotonic_us();
      if (clock_.monotonic_us() - *away_since_us >= options_.unreachable_ms * 1000) throw;
    }
    {
      const base::MutexLock lock(mutex_);
      ++now_.operations_retried;
    }
    pause(options_.reread_ms);
  }
}

void InitialSync::attempt(const std::string& source) {
  bson::Builder begin;
  begin.append("_initialSyncBegin", 1).append("for", options_.self);
  const bson::Document begun = call(source, begin.done());
  const int64_t backup = number(begun, "backupId");
  const auto block_bytes = begun.find("blockBytes");
  by_blocks_ = block_bytes.is_integer() && block_bytes.to_int64() == static_cast<int64_t>(file_block_bytes);
  bson::Builder end;
  end.append("_initialSyncEnd", 1).append("backupId", backup);
  const bson::Document ending = end.done();
  const auto let_go = [&] {
    try {
      needs_.call(source, ending);
    } catch (const OperationError&) {
      // The backup ends by itself.
    }
  };
  std::vector<File> files;
  try {
    if (const std::string why = needs_.refuse ? needs_.refuse(begun) : ""; !why.empty()) {
      throw OperationError(ErrorCode::operation_failed, "the sync source can't be used: " + why);
    }
    files = list(source, backup, number(begun, "files"));
    uint64_t total = 0;
    for (const File& file : files) total += file.bytes;
    {
      const base::MutexLock lock(mutex_);
      files_total_ = files.size(), files_copied_ = 0;
      bytes_total_ = total, bytes_copied_ = bytes_own_ = 0;
      copying_us_ = clock_.monotonic_us();
    }
    on_own_disk([this] { storage::begin_copy(options_.dbpath); });
    require_room(total);
    {
      const base::MutexLock lock(mutex_);
      lacks_.reset();
    }
    // The file that names the data's format comes first: if this program can't read the format, it finds out at once.
    std::partition(files.begin(), files.end(), [](const File& file) { return file.name == storage::directory_file; });
    for (const File& file : files) {
      copy(source, backup, file);
      if (file.name == storage::directory_file) check_encryption();
    }
  } catch (const OperationError& error) {
    if (!broke(error) && !is(error, BackupHost::gone)) let_go();
    throw;
  }
  let_go();
  storage::CopyMarker marker;
  for (File& file : files) marker.files.push_back({std::move(file.name), file.bytes});
  marker.carried = encode({needs_.stop_voting(), source, clock_.wall_ms()});
  on_own_disk([&] { storage::complete_copy(options_.dbpath, marker); });
}

// The copy is opened with this member's master key, so it must be encrypted with it, or not at all where this member's data
// isn't.
void InitialSync::check_encryption() const {
  try {
    storage::prepare_directory(options_.dbpath + "/" + storage::sync_directory, options_.encryption);
  } catch (const OperationError& error) {
    throw OperationError(error.code(), std::string("the sync source's data can't be used here: ") + error.what());
  }
}

std::vector<InitialSync::File> InitialSync::list(const std::string& source, int64_t backup, int64_t count) {
  std::vector<File> files;
  std::set<std::string> names;
  while (files.size() < static_cast<size_t>(count)) {
    bson::Builder command;
    command.append("_initialSyncFiles", 1).append("backupId", backup).append("skip", static_cast<int64_t>(files.size()));
    const bson::Document reply = call(source, command.done());
    const auto page = reply.find("files");
    if (!page.is_array() || page.as_document().empty()) strange("fewer files than it said");
    for (const auto& element : page.as_document()) {
      if (!element.is_object() || !element.as_document().find("name").is_string()) strange("a file without a name");
      File file{std::string(element.as_document().find("name").as_string()),
                static_cast<uint64_t>(number(element.as_document(), "bytes"))};
      if (!storage::is_engine_file(file.name)) {
        throw OperationError(ErrorCode::bad_value,
                             "the sync source offers a file that is none of a data directory: '" + file.name + "'");
      }
      if (!names.insert(file.name).second) strange("the file '" + file.name + "' twice");
      files.push_back(std::move(file));
    }
  }
  return files;
}

uint64_t InitialSync::free_bytes() const {
  struct statvfs figures {};
  if (::statvfs(options_.dbpath.c_str(), &figures) != 0) cannot("look at " + options_.dbpath, errno);
  return uint64_t{figures.f_bavail} * figures.f_frsize;
}

void InitialSync::require_room(uint64_t bytes) const {
  const uint64_t free = free_bytes();
  if (bytes + options_.reserve_bytes <= free) return;
  throw NoRoom("what is to be copied takes " + std::to_string(bytes) + " bytes, and of the " + std::to_string(free) +
               " bytes that " + options_.dbpath + " has free, " + std::to_string(options_.reserve_bytes) + " are reserved");
}

// The incomplete copy goes: it would take the room that the engine needs meanwhile.
void InitialSync::await_room(const std::string& reason) {
  uint64_t needed = options_.reserve_bytes;
  {
    const base::MutexLock lock(mutex_);
    needed += bytes_total_;
    bytes_copied_ = bytes_own_ = files_copied_ = 0;
  }
  base::log(Severity::warning, LogComponent::repl, 7100055,
            "The disk has no room for the copy of another member's data, which waits for room",
            Attributes().add("neededBytes", needed).add("error", reason));
  try {
    storage::begin_copy(options_.dbpath);
  } catch (const OperationError&) {
    // The next attempt removes it.
  }
  const int64_t until_us = clock_.monotonic_us() + options_.ask_again_ms * 1000;
  uint64_t free = 0;
  do {
    free = free_bytes();
    {
      const base::MutexLock lock(mutex_);
      lacks_ = Room{needed, free};
    }
    pause(options_.look_ms);
  } while (free < needed && clock_.monotonic_us() < until_us);
}

bool InitialSync::waits_for_room() const {
  const base::MutexLock lock(mutex_);
  return lacks_.has_value();
}

void InitialSync::copy(const std::string& source, int64_t backup, const File& file) {
  const OwnFile own_file(options_.dbpath + "/" + file.name);
  NewFile out(options_.dbpath + "/" + storage::sync_directory + "/" + file.name);
  for (uint64_t at = 0; at < file.bytes;) {
    const uint64_t wanted = std::min(file.bytes - at, static_cast<uint64_t>(options_.read_bytes));
    const Bytes own = by_blocks_ ? own_file.read(at, wanted) : Bytes();
    const Part part = read(source, backup, file, at, wanted, own);
    require_room(part.data.size());
    out.append(part.data);
    out.skip(part.zeros);
    at += part.bytes();
    const base::MutexLock lock(mutex_);
    bytes_copied_ += part.bytes();
    bytes_own_ += part.own_bytes;
  }
  out.end(file.bytes);
  const base::MutexLock lock(mutex_);
  ++files_copied_;
}

InitialSync::Part InitialSync::read(const std::string& source, int64_t backup, const File& file, uint64_t offset, uint64_t wanted,
                                    base::BytesView own) {
  bson::Builder command;
  command.append("_initialSyncRead", 1).append("backupId", backup).append("file", file.name);
  command.append("offset", static_cast<int64_t>(offset)).append("bytes", static_cast<int64_t>(wanted));
  if (!own.empty()) command.append("have", bson::Binary{0, block_hashes(own, wanted)});
  const bson::Document asked = command.done();
  for (int bad = 0; bad < bad_reads_max; ++bad) {
    const bson::Document reply = call(source, asked);
    const auto data = reply.find("data"), same = reply.find("same");
    const auto checksum = reply.find("checksum");
    if (data.type() != bson::Type::binary || !checksum.is_integer()) strange("a part of a file without data or checksum");
    if ((same.type() == bson::Type::binary) == own.empty()) strange("a part of a file that is in blocks, or should be");
    const uint64_t zeros = number(reply, "zeros");
    const BytesView bytes = data.as_binary().bytes, bits = own.empty() ? BytesView() : same.as_binary().bytes;
    if (bytes.size() > wanted || zeros > wanted - bytes.size() || (own.empty() && bytes.size() + zeros == 0)) {
      strange(std::to_string(bytes.size() + zeros) + " bytes of '" + file.name + "' where " + std::to_string(wanted) +
              " were asked for");
    }
    if (part_checksum(bits, bytes, zeros) != static_cast<uint64_t>(checksum.to_int64())) {
      const base::MutexLock lock(mutex_);
      ++now_.operations_retried;
      continue;
    }
    if (own.empty()) return {Bytes(bytes), zeros, 0};
    auto joined = join_blocks(own, bits, Bytes(bytes) + Bytes(zeros, '\0'), wanted);
    if (!joined) strange("blocks of '" + file.name + "' that don't make the part that was asked for");
    const size_t data_bytes = joined->part.find_last_not_of('\0') + 1;
    joined->part.resize(data_bytes);
    return {std::move(joined->part), wanted - data_bytes, joined->own_bytes};
  }
  throw OperationError(
      ErrorCode::data_corruption_detected,
      "'" + file.name + "' arrives damaged at offset " + std::to_string(offset) + ": its checksum is wrong time and again");
}

void InitialSync::append_status(bson::Builder& out) const {
  const base::MutexLock lock(mutex_);
  const int64_t now_us = ended_us_ ? ended_us_ : clock_.monotonic_us();
  out.append("failedInitialSyncAttempts", static_cast<int32_t>(failed_.size()))
      .append("maxFailedInitialSyncAttempts", options_.attempts_max);
  out.append("initialSyncStart", bson::Date{started_wall_ms_});
  if (ended_us_) out.append("initialSyncEnd", bson::Date{started_wall_ms_ + (ended_us_ - started_us_) / 1000});
  out.append("totalInitialSyncElapsedMillis", (now_us - started_us_) / 1000);
  const int64_t copying_ms = std::max<int64_t>(1, (now_us - copying_us_) / 1000);
  if (bytes_copied_ > 0) {
    const auto left = static_cast<double>(bytes_total_ - bytes_copied_);
    out.append("remainingInitialSyncEstimatedMillis",
               static_cast<int64_t>(left * static_cast<double>(copying_ms) / static_cast<double>(bytes_copied_)));
  }
  out.append("approxTotalDataSize", static_cast<int64_t>(bytes_total_))
      .append("approxTotalBytesCopied", static_cast<int64_t>(bytes_copied_))
      .append("approxTotalBytesOwn", static_cast<int64_t>(bytes_own_));
  out.append("bytesPerSecond",
             bytes_copied_ > 0 ? static_cast<int64_t>(bytes_copied_ * 1000 / static_cast<uint64_t>(copying_ms)) : int64_t{0});
  out.append("filesTotal", static_cast<int64_t>(files_total_)).append("filesCopied", static_cast<int64_t>(files_copied_));
  out.append("syncSource", now_.source).append("waitsForDiskSpace", lacks_.has_value());
  if (lacks_) {
    out.append("diskSpaceNeeded", static_cast<int64_t>(lacks_->needed_bytes))
        .append("diskSpaceFree", static_cast<int64_t>(lacks_->free_bytes));
  }
  auto attempts = out.array("initialSyncAttempts");
  for (size_t i = failed_.size() - std::min(failed_.size(), attempts_shown); i < failed_.size(); ++i) {
    const Attempt& each = failed_[i];
    auto one = attempts.object();
    one.append("durationMillis", each.duration_ms).append("status", each.status).append("syncSource", each.source);
    one.append("operationsRetried", each.operations_retried).append("totalTimeUnreachableMillis", each.unreachable_ms);
  }
}

std::optional<CopyOrigin> copy_origin(const std::string& dbpath) {
  const std::optional<Bytes> carried = storage::copied(dbpath);
  if (!carried) return std::nullopt;
  const auto damaged = [] {
    throw OperationError(ErrorCode::data_corruption_detected, "what a copied data directory carries is damaged");
  };
  if (!bson::validate(*carried)) damaged();
  const bson::DocumentView document(*carried);
  const auto term = document.find("term"), vote = document.find("vote"), source = document.find("source"),
             time = document.find("time");
  if (!term.is_integer() || !vote.is_integer() || !source.is_string() || time.type() != bson::Type::date) damaged();
  return CopyOrigin{{static_cast<uint64_t>(term.to_int64()), static_cast<uint64_t>(vote.to_int64())},
                    std::string(source.as_string()),
                    time.as_date().ms};
}

}  // namespace server::peers
