#include "server/query/stages/spill_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/error.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "storage/engine/room.h"
#include "storage/store.h"

namespace server::query {
namespace {

[[noreturn]] void failed(const char* what) {
  const int why = errno;
  throw base::OperationError(why == ENOSPC ? base::ErrorCode::out_of_disk_space : base::ErrorCode::operation_failed,
                             std::string("temporary file: ") + what + ": " + std::strerror(why));
}

}  // namespace

SpillFile::SpillFile(const std::string& directory, storage::Engine& engine) : engine_(engine) {
  const int descriptor = ::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (descriptor < 0) failed("open");
  file_ = ::fdopen(descriptor, "w+");
  if (!file_) {
    ::close(descriptor);
    failed("open");
  }
}

SpillFile::~SpillFile() {
  std::fclose(file_);
}

void SpillFile::write(const bson::Document& document) {
  storage::require_temporary_room(engine_, document.size());
  if (const base::Cipher* cipher = engine_.file_cipher()) {
    const base::Bytes sealed = cipher->seal(document.bytes());
    const auto length = static_cast<uint32_t>(sealed.size());
    if (std::fwrite(&length, 1, sizeof length, file_) != sizeof length) failed("write");
    if (std::fwrite(sealed.data(), 1, sealed.size(), file_) != sealed.size()) failed("write");
    return;
  }
  if (std::fwrite(document.bytes().data(), 1, document.size(), file_) != document.size()) failed("write");
}

void SpillFile::rewind() {
  if (std::fflush(file_) != 0) failed("write");
  std::rewind(file_);
}

std::optional<bson::Document> SpillFile::read() {
  uint32_t length = 0;
  if (std::fread(&length, 1, sizeof length, file_) != sizeof length) {
    if (std::ferror(file_)) failed("read");
    return std::nullopt;
  }
  if (const base::Cipher* cipher = engine_.file_cipher()) {
    base::Bytes sealed(length, '\0');
    if (std::fread(sealed.data(), 1, sealed.size(), file_) != sealed.size()) failed("read");
    auto plain = cipher->open(sealed);
    if (!plain) throw base::OperationError(base::ErrorCode::data_corruption_detected, "a temporary file is damaged");
    return bson::Document(*std::move(plain));
  }
  base::Bytes bytes(length, '\0');
  std::memcpy(bytes.data(), &length, sizeof length);
  if (std::fread(bytes.data() + sizeof length, 1, length - sizeof length, file_) != length - sizeof length) failed("read");
  return bson::Document(std::move(bytes));
}

std::string spill_directory(const OperationContext& op) {
  const std::string directory = op.services().store->options().path + "/_tmp";
  std::error_code ignored;
  std::filesystem::create_directory(directory, ignored);
  return directory;
}

}  // namespace server::query
