#include "storage/engine/open_file_lock.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace storage {

OpenFileLock::OpenFileLock(const std::string& path, Kind kind)
    : file_(::open(path.c_str(), (kind == Kind::shared ? O_RDONLY : O_RDWR) | O_CLOEXEC)) {
  if (file_ < 0) {
    error_ = errno == ENOENT ? 0 : errno;
    held_ = error_ == 0;
    return;
  }
  struct flock whole {};
  whole.l_type = kind == Kind::shared ? F_RDLCK : F_WRLCK;
  whole.l_whence = SEEK_SET;
  held_ = ::fcntl(file_, F_OFD_SETLK, &whole) == 0;
}

OpenFileLock::~OpenFileLock() {
  if (file_ >= 0) ::close(file_);
}

}  // namespace storage
