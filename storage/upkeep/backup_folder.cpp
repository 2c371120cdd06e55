#include "storage/upkeep/backup_folder.h"

#include <fcntl.h>

#include <filesystem>

#include "base/error.h"
#include "storage/engine/durable_files.h"
#include "storage/engine/engine.h"

namespace storage {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t chunk_bytes = 1 << 20;

[[noreturn]] void bad(const std::string& why) {
  throw base::OperationError(base::ErrorCode::bad_value, why);
}

bool lies_in(const fs::path& path, const fs::path& folder) {
  const auto [rest, at] = std::mismatch(path.begin(), path.end(), folder.begin(), folder.end());
  return at == folder.end();
}

}  // namespace

fs::path backup_path(const Engine& engine, const std::string& folder) {
  const fs::path path = plain_path(folder);
  if (!path.is_absolute() || folder.find('\0') != std::string::npos) bad("a backup needs an absolute path");
  std::error_code error;
  if (!fs::is_directory(path.parent_path(), error)) bad("the folder " + path.parent_path().string() + " doesn't exist");
  if (lies_in(fs::weakly_canonical(path, error), fs::canonical(engine.options().path, error)))
    bad("a backup can't lie in the data directory");
  return path;
}

BackupFolder back_up_to_folder(Engine& engine, const std::string& folder, const std::function<void(uint64_t, uint64_t)>& copied) {
  const fs::path to = backup_path(engine, folder);
  require_new_folder(to);
  const Backup backup(engine);
  PartialFolder partial(to);
  uint64_t bytes = 0;
  for (const BackupFile& file : backup.files()) {
    const fs::path path = partial.path() / file.name;
    make_private_folder(path.parent_path());
    const DurableFile out(path, O_WRONLY | O_CREAT | O_EXCL);
    for (uint64_t at = 0; at < file.bytes;) {
      const base::Bytes some = backup.read(file.name, at, chunk_bytes);
      out.write(some);
      at += some.size();
      bytes += some.size();
      copied(bytes, backup.total_bytes());
    }
  }
  partial.complete();
  return {backup.files().size(), bytes};
}

}  // namespace storage
