#include "datasets/replay/acknowledged_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <stdexcept>

#include "bson/builder.h"
#include "bson/json.h"
#include "datasets/replay/ledger.h"

namespace datasets::replay {
namespace {
constexpr size_t hash_digits = 16;
constexpr std::string_view dashes = "----------------";
}  // namespace

std::string to_line(const Acknowledged& write) {
  std::string line(dashes);
  if (write.document != removed_hash) {
    for (size_t i = 0; i < hash_digits; ++i) line[i] = "0123456789abcdef"[(write.document >> (4 * (hash_digits - 1 - i))) & 15];
  }
  bson::Builder id;
  id.append("_id", write.id);
  return line + " " + write.collection + " " + bson::to_json(id.done(), bson::JsonMode::canonical) + "\n";
}

std::optional<Acknowledged> from_line(std::string_view line) {
  const size_t brace = line.find(" {");
  if (line.size() < hash_digits + 2 || line[hash_digits] != ' ' || brace == std::string_view::npos || brace <= hash_digits)
    return std::nullopt;
  Acknowledged write;
  const std::string_view hash = line.substr(0, hash_digits);
  if (hash != dashes) {
    const auto [end, error] = std::from_chars(hash.data(), hash.data() + hash.size(), write.document, 16);
    if (error != std::errc() || end != hash.data() + hash.size()) return std::nullopt;
  }
  write.collection = line.substr(hash_digits + 1, brace - hash_digits - 1);
  const auto id = bson::from_json(line.substr(brace + 1));
  if (!id.ok() || !id.value().has("_id")) return std::nullopt;
  write.id = bson::Value(id.value().find("_id"));
  return write;
}

AcknowledgedLog::AcknowledgedLog(const std::string& path)
    : fd_(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)) {
  if (fd_ < 0) throw std::runtime_error(path + ": " + std::strerror(errno));
}

AcknowledgedLog::~AcknowledgedLog() {
  ::close(fd_);
}

void AcknowledgedLog::append(std::string_view lines) {
  const base::MutexLock lock(mutex_);
  while (!lines.empty()) {
    const ssize_t done = ::write(fd_, lines.data(), lines.size());
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) throw std::runtime_error(std::string("the log of acknowledged writes: ") + std::strerror(errno));
    lines.remove_prefix(static_cast<size_t>(done));
  }
}

}  // namespace datasets::replay
