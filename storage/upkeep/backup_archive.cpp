#include "storage/upkeep/backup_archive.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

#include "base/error.h"
#include "base/log.h"
#include "storage/engine/engine_files.h"

namespace storage {
namespace {

namespace fs = std::filesystem;
using base::Bytes;
using base::BytesView;
using base::ErrorCode;
using base::OperationError;

constexpr std::string_view complete_suffix = ".backup", partial_suffix = ".partial";
constexpr size_t digits = 6;
constexpr int log_other_file = 7200523;
constexpr size_t read_bytes = 1 << 20;

[[noreturn]] void damaged(const std::string& why) {
  throw OperationError(ErrorCode::data_corruption_detected, why);
}

std::string name_of(uint64_t number, std::string_view suffix) {
  const std::string text = std::to_string(number);
  return std::string(text.size() < digits ? digits - text.size() : 0, '0') + text + std::string(suffix);
}

// Returns the number of "000017.backup"; nullopt for other names.
std::optional<uint64_t> number_of(const std::string& name, std::string_view suffix) {
  if (!name.ends_with(suffix)) return std::nullopt;
  uint64_t number = 0;
  const char* end = name.data() + name.size() - suffix.size();
  const auto [at, error] = std::from_chars(name.data(), end, number);
  if (error != std::errc() || at != end || number == 0 || name != name_of(number, suffix)) return std::nullopt;
  return number;
}

// Reads a file from its beginning until `take` returns false.
template <class Take>
void read_file(const fs::path& path, const Take& take) {
  const DurableFile file(path, O_RDONLY);
  Bytes buffer(read_bytes, '\0');
  for (;;) {
    const ssize_t got = ::read(file.descriptor(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) file_error("read " + path.string(), errno);
    if (got == 0 || !take(BytesView(buffer).substr(0, static_cast<size_t>(got)))) return;
  }
}

ArchivedBackup read_head(uint64_t number, const fs::path& path) {
  BackupDecoder decoder;
  try {
    read_file(path, [&](BytesView bytes) {
      decoder.feed(bytes);
      decoder.next();
      return decoder.head() == nullptr;
    });
  } catch (const OperationError& error) {
    // This doesn't ask for what is behind the head.
    if (!decoder.head()) throw OperationError(error.code(), path.string() + ": " + error.what());
  }
  if (!decoder.head()) damaged(path.string() + ": the backup has no head");
  return {.number = number, .path = path, .head = *decoder.head(), .file_bytes = fs::file_size(path)};
}

}  // namespace

std::vector<ArchivedBackup> archived_backups(const fs::path& folder) {
  std::vector<ArchivedBackup> found;
  std::error_code error;
  if (!fs::exists(folder, error)) return found;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (const auto number = number_of(entry.path().filename(), complete_suffix)) {
      found.push_back(read_head(*number, entry.path()));
    }
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.number < b.number; });
  return found;
}

ArchiveWriter::ArchiveWriter(fs::path folder) : folder_(std::move(folder)) {
  make_private_folder(folder_);
  std::vector<fs::path> left;
  for (const auto& entry : fs::directory_iterator(folder_)) {
    const std::string name = entry.path().filename();
    if (number_of(name, partial_suffix)) {
      left.push_back(entry.path());
    } else if (!number_of(name, complete_suffix)) {
      // The error names no file: a user who may make backups must not learn what other folders of the machine have.
      base::log(base::Severity::warning, base::LogComponent::storage, log_other_file,
                "A folder with other files can't be an archive of backups",
                base::Attributes().add("folder", folder_.string()).add("file", name));
      throw OperationError(ErrorCode::bad_value, folder_.string() + " is no archive of backups: it has other files");
    }
  }
  const auto lock = [](const DurableFile& file) {
    if (::flock(file.descriptor(), LOCK_EX | LOCK_NB) != 0)
      throw OperationError(ErrorCode::object_is_busy, "another backup is being written to this archive");
  };
  for (const fs::path& path : left) {
    lock(DurableFile(path, O_RDWR));
    fs::remove(path);
  }
  const auto all = archived_backups(folder_);
  if (!all.empty()) {
    newest_ = all.back().head.link.id;
    newest_files_ = all.back().head.files;
    number_ = all.back().number + 1;
  }
  partial_ = folder_ / name_of(number_, partial_suffix);
  file_.emplace(partial_, O_RDWR | O_CREAT | O_EXCL);
  lock(*file_);
}

ArchiveWriter::~ArchiveWriter() {
  if (finished_ || !file_) return;
  std::error_code error;
  fs::remove(partial_, error);
}

void ArchiveWriter::check_head() {
  if (head_checked_ || !decoder_.head()) return;
  head_checked_ = true;
  const BackupHead& head = *decoder_.head();
  if (head.link.from.empty()) return;
  if (head.link.from != newest_) damaged("the backup doesn't continue the archive's newest one");
  for (const BackupHead::File& file : head.files) {
    const auto before = std::lower_bound(newest_files_.begin(), newest_files_.end(), file.name,
                                         [](const auto& a, const auto& b) { return a.name < b; });
    if (!file.whole && (before == newest_files_.end() || before->name != file.name))
      damaged("the backup has changes of " + file.name + " alone, which the archive's newest one doesn't have");
  }
}

void ArchiveWriter::write(BytesView bytes) {
  decoder_.feed(bytes);
  while (decoder_.next()) {
  }
  check_head();
  file_->write(bytes);
}

ArchivedBackup ArchiveWriter::finish() {
  if (!decoder_.ended()) damaged("the backup's end is missing");
  file_->sync();
  const fs::path path = folder_ / name_of(number_, complete_suffix);
  if (::rename(partial_.c_str(), path.c_str()) != 0) file_error("rename " + partial_.string(), errno);
  finished_ = true;
  sync_folder(folder_);
  sync_folder(fs::absolute(folder_).parent_path());
  return {.number = number_, .path = path, .head = *decoder_.head(), .file_bytes = fs::file_size(path)};
}

BackupRestorer::BackupRestorer(const fs::path& target) : partial_((require_new_folder(target), target)) {}

void BackupRestorer::begin() {
  decoder_ = {};
  head_checked_ = false;
}

void BackupRestorer::check_head(const BackupHead& head) {
  head_checked_ = true;
  if (last_id_.empty() && !head.link.from.empty()) damaged("the first backup isn't a whole one");
  if (!last_id_.empty() && head.link.from != last_id_) damaged("a backup doesn't continue the one before");
  for (const BackupHead::File& file : head.files) {
    if (!file.whole && !std::binary_search(names_.begin(), names_.end(), file.name))
      damaged("the backup has changes of " + file.name + " alone, which the one before doesn't have");
  }
}

void BackupRestorer::open(const BackupHead& head, size_t file) {
  if (file_ && file_number_ == file) return;
  const fs::path path = partial_.path() / head.files[file].name;
  make_private_folder(path.parent_path());
  file_.reset();
  file_.emplace(path, O_WRONLY | (head.files[file].whole ? O_CREAT | O_TRUNC : 0));
  file_number_ = file;
}

void BackupRestorer::write(BytesView bytes) {
  decoder_.feed(bytes);
  while (const auto part = decoder_.next()) {
    const BackupHead& head = *decoder_.head();
    if (!head_checked_) check_head(head);
    open(head, part->file);
    file_->write_at(part->offset, part->data);
    // Zeros of a whole file are those of its new length; in a changed block they replace something.
    if (!head.files[part->file].whole) file_->write_at(part->offset + part->data.size(), Bytes(part->zeros, '\0'));
  }
}

void BackupRestorer::end() {
  if (!decoder_.ended()) damaged("the backup's end is missing");
  const BackupHead& head = *decoder_.head();
  if (!head_checked_) check_head(head);
  file_.reset();
  std::vector<std::string> names;
  for (const BackupHead::File& file : head.files) {
    const fs::path path = partial_.path() / file.name;
    make_private_folder(path.parent_path());
    const bool empty = file.whole && file.bytes == 0;  // it has no parts
    DurableFile(path, O_WRONLY | (empty ? O_CREAT | O_TRUNC : 0)).resize(file.bytes);
    names.push_back(file.name);
  }
  for (const std::string& name : names_) {
    if (!std::binary_search(names.begin(), names.end(), name)) fs::remove(partial_.path() / name);
  }
  names_ = std::move(names);
  last_id_ = head.link.id;
}

void BackupRestorer::complete() {
  partial_.complete();
}

Restored restore_archive(const fs::path& archive, uint64_t number, const fs::path& target,
                         const std::function<void(uint64_t, uint64_t)>& done) {
  const auto all = archived_backups(archive);
  if (all.empty()) throw OperationError(ErrorCode::no_such_key, archive.string() + " has no backups");
  if (number == 0) number = all.back().number;
  const auto wanted = std::find_if(all.begin(), all.end(), [&](const ArchivedBackup& one) { return one.number == number; });
  if (wanted == all.end())
    throw OperationError(ErrorCode::no_such_key, archive.string() + " has no backup " + std::to_string(number));
  auto first = wanted;
  while (!first->head.link.from.empty()) {
    const std::string& from = first->head.link.from;
    if (first == all.begin() || std::prev(first)->head.link.id != from) {
      damaged("backup " + std::to_string(first->number) + " continues one that " + archive.string() + " doesn't have");
    }
    --first;
  }
  uint64_t total = 0, read = 0;
  for (auto one = first; one <= wanted; ++one) total += one->file_bytes;
  BackupRestorer restorer(target);
  for (auto one = first; one <= wanted; ++one) {
    restorer.begin();
    try {
      read_file(one->path, [&](BytesView bytes) {
        restorer.write(bytes);
        done(read += bytes.size(), total);
        return true;
      });
      restorer.end();
    } catch (const OperationError& error) {
      throw OperationError(error.code(), one->path.string() + ": " + error.what());
    }
  }
  restorer.complete();
  return {.backup = *wanted, .backups = static_cast<size_t>(wanted - first) + 1};
}

}  // namespace storage
