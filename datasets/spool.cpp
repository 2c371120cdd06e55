#include "datasets/spool.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "datasets/problems.h"

namespace datasets {

Spool::Spool() {
  const char* folder = std::getenv("TMPDIR");
  std::string path = std::string(folder && *folder ? folder : "/tmp") + "/palimpsest-spool-XXXXXX";
  fd_ = ::mkstemp(path.data());
  if (fd_ < 0) throw InputError("cannot make a temporary file " + path + ": " + std::strerror(errno));
  ::unlink(path.c_str());
}

Spool::~Spool() {
  ::close(fd_);
}

uint64_t Spool::append(base::BytesView record) {
  const uint64_t at = written_ + buffer_.size();
  base::append_le(buffer_, static_cast<uint32_t>(record.size()));
  buffer_.append(record);
  if (buffer_.size() >= buffer_max) flush();
  return at;
}

void Spool::flush() {
  for (base::BytesView left = buffer_; !left.empty();) {
    const ssize_t done = ::pwrite(fd_, left.data(), left.size(), static_cast<off_t>(written_));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) throw InputError(std::string("cannot write the temporary file: ") + std::strerror(errno));
    written_ += static_cast<uint64_t>(done);
    left.remove_prefix(static_cast<size_t>(done));
  }
  buffer_.clear();
}

void Spool::read(uint64_t at, base::Bytes& record) {
  if (!buffer_.empty()) flush();
  auto fill = [&](char* to, size_t bytes, uint64_t from) {
    size_t filled = 0;
    while (filled < bytes) {
      const ssize_t got = ::pread(fd_, to + filled, bytes - filled, static_cast<off_t>(from + filled));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) break;
      filled += static_cast<size_t>(got);
    }
    return filled;
  };
  // For most records one read is enough: it takes the length and, at a guess, all of the record.
  record.resize(16 * 1024);
  const size_t got = fill(record.data(), record.size(), at);
  if (got < sizeof(uint32_t)) throw InputError("the temporary file was cut short");
  const size_t bytes = base::load_le<uint32_t>(record.data());
  const size_t have = std::min(bytes, got - sizeof(uint32_t));
  record.erase(0, sizeof(uint32_t));
  record.resize(bytes);
  if (have < bytes && fill(record.data() + have, bytes - have, at + sizeof(uint32_t) + have) < bytes - have) {
    throw InputError("the temporary file was cut short");
  }
}

}  // namespace datasets
