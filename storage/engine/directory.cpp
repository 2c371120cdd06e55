#include "storage/engine/directory.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "base/error.h"
#include "base/log.h"
#include "storage/engine/durable_files.h"

namespace storage {
namespace {

namespace fs = std::filesystem;
using base::ErrorCode;
using base::OperationError;

constexpr char format_name[] = "palimpsest";
constexpr int log_marker_restored = 7200532;

[[noreturn]] void refuse(const std::string& why) {
  throw OperationError(ErrorCode::unsupported_format, why);
}

std::string draft_of(const std::string& name) {
  return name + ".new";
}

// Log, lock and pid files may lie in the directory before the first start, and a draft of the marker if one was killed.
bool harmless(const fs::path& file) {
  const std::string name = file.filename();
  if (name.starts_with(".") || name == "lost+found" || name == draft_of(directory_file)) return true;
  for (const char* extension : {".log", ".lock", ".pid", ".conf", ".yaml", ".txt"}) {
    if (file.extension() == extension) return true;
  }
  return false;
}

void check_unclaimed(const std::string& path) {
  for (const fs::directory_entry& entry : fs::directory_iterator(path)) {
    const std::string name = entry.path().filename();
    if (harmless(entry.path())) continue;
    if (name == "WiredTiger" || name.starts_with("WiredTiger.") || name == "storage.bson") {
      refuse("the directory " + path + " holds another server's WiredTiger files (there is no " + directory_file +
             "); restore its data through a dump, or choose an empty directory");
    }
    refuse("the directory " + path + " is not empty and not a Palimpsest data directory: it holds '" + name + "' but no " +
           directory_file);
  }
}

// Returns the number that follows "name"; it returns nothing if this program didn't write the text.
std::optional<int> number_field(const std::string& text, const std::string& name) {
  const size_t at = text.find("\"" + name + "\":");
  if (at == text.npos) return std::nullopt;
  int number = 0;
  std::istringstream in(text.substr(at + name.size() + 3));
  return in >> number ? std::optional(number) : std::nullopt;
}

std::string read_marker(const std::string& path, const char* file = directory_file) {
  std::ifstream in(fs::path(path) / file);
  return {(std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>()};
}

// A copy that differs from the marker says that one of them is damaged.
void write_marker(const std::string& path, const std::string& text) {
  remove_file(path, directory_copy_file);
  write_file(path, directory_file, text);
  write_file(path, directory_copy_file, text);
}

// Older programs made no copy. If the disk is full, a later start makes it.
void copy_marker(const std::string& path, const std::string& text) {
  if (read_marker(path, directory_copy_file) == text) return;
  try {
    write_file(path, directory_copy_file, text);
  } catch (const OperationError& error) {
    if (error.code() != ErrorCode::out_of_disk_space) throw;
  }
}

std::string marker_text(const std::string& wrapped_key) {
  const bool encrypted = !wrapped_key.empty();
  return "{\"format\": \"" + std::string(format_name) +
         "\", \"version\": " + std::to_string(encrypted ? encrypted_directory_version : directory_version) +
         (encrypted ? ", \"encryption\": " + wrapped_key : "") + "}\n";
}

// Returns whether the directory is encrypted.
bool check_marker(const std::string& path, const std::string& text) {
  const fs::path marker = fs::path(path) / directory_file;
  const auto version = number_field(text, "version");
  if (text.find("\"format\": \"" + std::string(format_name) + "\"") == text.npos || !version) {
    refuse("the file " + marker.string() + " is damaged: it does not name this program's format");
  }
  if (*version != directory_version && *version != encrypted_directory_version) {
    refuse("the data directory " + path + " has format version " + std::to_string(*version) + "; this program reads versions " +
           std::to_string(directory_version) + " and " + std::to_string(encrypted_directory_version));
  }
  return *version == encrypted_directory_version;
}

// Returns what the directory is encrypted with, or nullptr.
std::shared_ptr<const Encryption> open_marker(const std::string& path, const std::string& text,
                                              const EncryptionOptions& encryption) {
  const bool encrypted = check_marker(path, text);
  if (encrypted && !encryption.enabled)
    throw OperationError(ErrorCode::bad_value, "the data directory " + path + " is encrypted: it needs --enableEncryption");
  if (!encrypted && encryption.enabled) {
    throw OperationError(ErrorCode::bad_value, "the data directory " + path +
                                                   " is not encrypted: --enableEncryption is for an empty directory, into which "
                                                   "the data is restored or copied");
  }
  if (!encrypted) return nullptr;
  return std::make_shared<const Encryption>(unwrap_data_key(text, read_master_key(encryption.key_file)));
}

// A marker that names another version isn't a damaged one.
bool names_another_version(const std::string& text) {
  const auto version = number_field(text, "version");
  return text.find("\"format\": \"" + std::string(format_name) + "\"") != text.npos && version && *version != directory_version &&
         *version != encrypted_directory_version;
}

// Puts the copy in the place of a marker that can't be used.
void restore_marker(const std::string& path, const EncryptionOptions& encryption) {
  const std::string text = read_marker(path), copy = read_marker(path, directory_copy_file);
  if (copy.empty() || copy == text || names_another_version(text)) return;
  try {
    open_marker(path, text, encryption);
    return;
  } catch (const OperationError&) {
  }
  try {
    open_marker(path, copy, encryption);
  } catch (const OperationError&) {
    return;
  }
  write_file(path, directory_file, copy);
  base::log(base::Severity::warning, base::LogComponent::storage, log_marker_restored,
            "The file that names the data directory's format was damaged, and is restored from its copy",
            base::Attributes().add("file", directory_file).add("copy", directory_copy_file));
}

}  // namespace

void write_file(const std::string& directory, const std::string& name, const std::string& text) {
  const std::string path = directory + "/" + name;
  const std::string draft = draft_of(path);
  try {
    const DurableFile file(draft, O_WRONLY | O_CREAT | O_TRUNC);
    file.write(text);
    file.sync();
    if (::rename(draft.c_str(), path.c_str()) != 0) file_error("create " + path, errno);
  } catch (const OperationError&) {
    ::unlink(draft.c_str());
    throw;
  }
  sync_folder(directory);
}

void remove_file(const std::string& directory, const std::string& name) {
  const std::string path = directory + "/" + name;
  const DurableFile folder(directory, O_RDONLY | O_DIRECTORY);  // first: what can't be removed durably stays
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) file_error("remove " + path, errno);
  folder.sync();
}

std::shared_ptr<const Encryption> prepare_directory(const std::string& path, const EncryptionOptions& encryption, bool repair) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error || !fs::is_directory(path)) {
    throw OperationError(ErrorCode::internal_error, "cannot create the data directory " + path + ": " + error.message());
  }
  if (repair) restore_marker(path, encryption);
  std::shared_ptr<const Encryption> found;
  if (fs::exists(fs::path(path) / directory_file)) {
    const std::string text = read_marker(path);
    found = open_marker(path, text, encryption);
    copy_marker(path, text);
  } else {
    check_unclaimed(path);
    std::string wrapped;
    if (encryption.enabled) {
      const base::Bytes data_key = base::random_key(base::Cipher::key_bytes);
      wrapped = wrap_data_key(data_key, read_master_key(encryption.key_file));
      found = std::make_shared<const Encryption>(data_key);
    }
    write_marker(path, marker_text(wrapped));
  }
  fs::create_directories(fs::path(path) / "journal", error);
  if (error) throw OperationError(ErrorCode::internal_error, "cannot create the journal in " + path + ": " + error.message());
  return found;
}

void change_master_key(const std::string& path, const EncryptionOptions& encryption) {
  const std::string text = read_marker(path);
  if (text.empty()) throw OperationError(ErrorCode::bad_value, "there is no data directory in " + path);
  if (!check_marker(path, text)) throw OperationError(ErrorCode::bad_value, "the data directory " + path + " is not encrypted");
  const base::Bytes data_key = unwrap_data_key(text, read_master_key(encryption.key_file));
  write_marker(path, marker_text(wrap_data_key(data_key, read_master_key(encryption.new_key_file))));
}

void take_wrapped_key(const std::string& path, const std::string& from) {
  const std::string text = read_marker(from);
  if (check_marker(path, read_marker(path)) && check_marker(from, text)) write_marker(path, text);
}

base::Bytes read_sealed_file(const std::string& path, const EncryptionOptions& encryption, const std::string& file) {
  const std::string text = read_marker(path);
  if (text.empty() || !check_marker(path, text))
    throw OperationError(ErrorCode::bad_value, "there is no encrypted data directory in " + path);
  const Encryption found(unwrap_data_key(text, read_master_key(encryption.key_file)));
  std::ifstream in(file, std::ios::binary);
  if (!in) throw OperationError(ErrorCode::bad_value, "the file " + file + " can't be read");
  const base::Bytes sealed((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  auto plain = found.files().open(sealed);
  if (!plain) throw OperationError(ErrorCode::data_corruption_detected, "the file " + file + " can't be decrypted");
  return *std::move(plain);
}

}  // namespace storage
