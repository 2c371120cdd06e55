#include "datasets/input/stream.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace datasets {
namespace {

class FileStream : public Stream {
 public:
  FileStream(const std::string& path, Meter* meter) : meter_(meter), fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (fd_ < 0) throw StreamError(std::string("cannot open: ") + std::strerror(errno));
    ::posix_fadvise(fd_, 0, 0, POSIX_FADV_SEQUENTIAL);
  }
  ~FileStream() override { ::close(fd_); }

  size_t read(char* to, size_t bytes_max) override {
    for (;;) {
      const ssize_t got = ::read(fd_, to, bytes_max);
      if (got >= 0) {
        if (meter_) meter_->bytes_read += static_cast<uint64_t>(got);
        return static_cast<size_t>(got);
      }
      if (errno != EINTR) throw StreamError(std::string("cannot read: ") + std::strerror(errno));
    }
  }

 private:
  Meter* meter_;
  int fd_;
};

class MemoryStream : public Stream {
 public:
  explicit MemoryStream(base::Bytes bytes) : bytes_(std::move(bytes)) {}
  size_t read(char* to, size_t bytes_max) override {
    const size_t bytes = std::min(bytes_max, bytes_.size() - at_);
    std::memcpy(to, bytes_.data() + at_, bytes);
    at_ += bytes;
    return bytes;
  }

 private:
  base::Bytes bytes_;
  size_t at_ = 0;
};

}  // namespace

std::unique_ptr<Stream> open_file(const std::string& path, Meter* meter) {
  return std::make_unique<FileStream>(path, meter);
}

std::unique_ptr<Stream> memory_stream(base::Bytes bytes) {
  return std::make_unique<MemoryStream>(std::move(bytes));
}

BufferedStream::BufferedStream(std::unique_ptr<Stream> from) : from_(std::move(from)), buffer_(new char[capacity]) {}

BufferedStream::~BufferedStream() = default;

void BufferedStream::fill() {
  if (begin_ > 0) {
    std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  const size_t got = from_->read(buffer_.get() + end_, capacity - end_);
  if (got == 0) at_end_ = true;
  end_ += got;
  filled_ += got;
}

base::BytesView BufferedStream::peek(size_t bytes) {
  while (end_ - begin_ < bytes && !at_end_) fill();
  return {buffer_.get() + begin_, std::min(bytes, end_ - begin_)};
}

base::BytesView BufferedStream::chunk() {
  if (begin_ == end_ && !at_end_) fill();
  return {buffer_.get() + begin_, end_ - begin_};
}

size_t BufferedStream::read(char* to, size_t bytes_max) {
  const base::BytesView ready = chunk();
  const size_t bytes = std::min(bytes_max, ready.size());
  std::memcpy(to, ready.data(), bytes);
  take(bytes);
  return bytes;
}

}  // namespace datasets
