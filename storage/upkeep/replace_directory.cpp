#include "storage/upkeep/replace_directory.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/result.h"
#include "base/varint.h"
#include "storage/engine/directory.h"
#include "storage/engine/engine_files.h"

namespace storage {
namespace {

namespace fs = std::filesystem;
using base::Bytes;
using base::BytesView;
using base::ErrorCode;
using base::OperationError;

constexpr char complete_name[] = "complete";
constexpr char placing_name[] = "placing";
constexpr char copied_name[] = "copied";

[[noreturn]] void cannot(const std::string& doing, int error) {
  throw OperationError(error == ENOSPC ? ErrorCode::out_of_disk_space : ErrorCode::internal_error,
                       "cannot " + doing + ": " + std::strerror(error));
}

void check_done(const std::error_code& error, const std::string& doing) {
  if (error) cannot(doing, error.value());
}

void sync_directory_entries(const std::string& path) {
  const int directory = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) cannot("open " + path, errno);
  const int result = ::fsync(directory);
  const int error = errno;
  ::close(directory);
  if (result != 0) cannot("sync " + path, error);
}

std::optional<CopyMarker> read_marker(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  const Bytes bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  return in ? decode_marker(bytes) : std::nullopt;
}

// The function returns an empty string when the copy matches its marker.
std::string unlike(const fs::path& copy, const std::optional<CopyMarker>& marker) {
  if (!marker) return "its marker is damaged";
  bool named = false;
  for (const BackupFile& file : marker->files) {
    std::error_code error;
    const uintmax_t bytes = fs::file_size(copy / file.name, error);
    if (error || bytes != file.bytes) return file.name + (error ? " is missing" : " has another length");
    named = named || file.name == directory_file;
  }
  return named ? "" : std::string(directory_file) + " is missing";
}

// This class removes the old files from the directory and then moves the copy's entries into it. A repeated step does no harm,
// because each step checks what exists.
class Placing {
 public:
  Placing(const std::string& dbpath, const std::function<void()>& step)
      : dbpath_(dbpath), copy_(dbpath_ / sync_directory), step_(step) {}

  bool begun() const { return fs::exists(copy_ / placing_name); }

  void clear() {
    for (const std::string& name : engine_entries(dbpath_)) {
      if (name == journal_directory) {
        for (const auto& file : fs::directory_iterator(dbpath_ / name)) remove(file.path());
      }
      remove(dbpath_ / name);
    }
    remove_if_there(dbpath_ / copied_name);  // An earlier copy may have left this file.
    sync_directory_entries(dbpath_);
    rename(copy_ / complete_name, copy_ / placing_name);
    sync_directory_entries(copy_);
  }

  void place() {
    for (const std::string& name : engine_entries(copy_)) rename(copy_ / name, dbpath_ / name);
    sync_directory_entries(dbpath_);
    sync_directory_entries(copy_);
    rename(copy_ / placing_name, dbpath_ / copied_name);
    sync_directory_entries(dbpath_);
  }

 private:
  void step() const {
    if (step_) step_();
  }
  void remove(const fs::path& path) const {
    step();
    std::error_code error;
    fs::remove(path, error);
    check_done(error, "remove " + path.string());
  }
  void remove_if_there(const fs::path& path) const {
    if (fs::exists(path)) remove(path);
  }
  void rename(const fs::path& from, const fs::path& to) const {
    step();
    std::error_code error;
    fs::rename(from, to, error);
    check_done(error, "move " + from.string());
  }

  const fs::path dbpath_;
  const fs::path copy_;
  const std::function<void()>& step_;
};

void remove_copy(const fs::path& copy, const std::function<void()>& step) {
  // The marker goes first: half a copy must not look like a whole one.
  std::error_code error;
  if (step) step();
  fs::remove(copy / complete_name, error);
  check_done(error, "remove " + (copy / complete_name).string());
  sync_directory_entries(copy);
  if (step) step();
  fs::remove_all(copy, error);
  check_done(error, "remove " + copy.string());
}

}  // namespace

void begin_copy(const std::string& dbpath) {
  const fs::path copy = fs::path(dbpath) / sync_directory;
  if (fs::exists(copy)) remove_copy(copy, nullptr);
  std::error_code error;
  fs::create_directories(copy / journal_directory, error);
  check_done(error, "create " + copy.string());
  sync_directory_entries(dbpath);
}

void complete_copy(const std::string& dbpath, const CopyMarker& marker) {
  const std::string copy = dbpath + "/" + sync_directory;
  sync_directory_entries(copy + "/" + std::string(journal_directory));
  sync_directory_entries(copy);
  if (const std::string why = unlike(copy, marker); !why.empty()) {
    throw OperationError(ErrorCode::internal_error, "the copy in " + copy + " is not complete: " + why);
  }
  write_file(copy, complete_name, encode_marker(marker));
}

Replaced place_copy(const std::string& dbpath, const std::function<void()>& step) {
  const fs::path copy = fs::path(dbpath) / sync_directory;
  if (!fs::exists(copy)) return Replaced::nothing;
  Placing placing(dbpath, step);
  if (!placing.begun()) {
    const bool complete = fs::exists(copy / complete_name);
    const bool placed = !complete && fs::exists(fs::path(dbpath) / copied_name) && engine_entries(copy).empty();
    if (placed) {  // The process was lost between the last move and the end.
      remove_copy(copy, step);
      return Replaced::replaced;
    }
    const std::string why = complete ? unlike(copy, read_marker(copy / complete_name)) : "it was not finished";
    if (!why.empty()) {
      base::log(base::Severity::warning, base::LogComponent::storage, 22450, "A copy of another member's data is removed",
                base::Attributes().add("directory", copy.string()).add("reason", why));
      remove_copy(copy, step);
      return Replaced::removed_incomplete;
    }
    placing.clear();
  } else if (!read_marker(copy / placing_name)) {
    throw OperationError(ErrorCode::data_corruption_detected, "the marker " + (copy / placing_name).string() + " is damaged");
  }
  placing.place();
  remove_copy(copy, step);
  base::log(base::Severity::info, base::LogComponent::storage, 22451,
            "A copy of another member's data has taken this directory's place", base::Attributes().add("dbPath", dbpath));
  return Replaced::replaced;
}

std::optional<Bytes> copied(const std::string& dbpath) {
  const fs::path path = fs::path(dbpath) / copied_name;
  if (!fs::exists(path)) return std::nullopt;
  std::optional<CopyMarker> marker = read_marker(path);
  if (!marker) throw OperationError(ErrorCode::data_corruption_detected, "the marker " + path.string() + " is damaged");
  return std::move(marker->carried);
}

void forget_copied(const std::string& dbpath) {
  std::error_code error;
  fs::remove(fs::path(dbpath) / copied_name, error);
  check_done(error, "remove " + dbpath + "/" + copied_name);
  sync_directory_entries(dbpath);
}

}  // namespace storage
