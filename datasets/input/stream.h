// A stream gives bytes in order, from a file, an archive member or a decompressor.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

#include "base/bytes.h"

namespace datasets {

// This is thrown when the bytes end too early or are not what they claim to be.
class StreamError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Stream {
 public:
  virtual ~Stream() = default;

  // Reads up to bytes_max > 0 bytes, and returns 0 only at the end. Throws StreamError.
  virtual size_t read(char* to, size_t bytes_max) = 0;
};

// A meter says how far the files on disk have been read; the streams over them share it.
struct Meter {
  uint64_t bytes_read = 0;
  uint64_t bytes_total = 0;
};

// A BufferedStream can look ahead, and knows its place.
class BufferedStream : public Stream {
 public:
  static constexpr size_t peek_max = 64 * 1024;

  explicit BufferedStream(std::unique_ptr<Stream> from);
  ~BufferedStream() override;

  size_t read(char* to, size_t bytes_max) override;

  // Returns the next bytes without taking them; they are fewer than asked only at the end.
  base::BytesView peek(size_t bytes);

  // Returns what is buffered, at least one byte unless the stream is at its end; take() consumes it.
  base::BytesView chunk();
  void take(size_t bytes) { begin_ += bytes; }

  // Returns the number of bytes consumed so far.
  uint64_t offset() const { return filled_ - (end_ - begin_); }

 private:
  void fill();

  static constexpr size_t capacity = 256 * 1024;

  std::unique_ptr<Stream> from_;
  std::unique_ptr<char[]> buffer_;
  size_t begin_ = 0;
  size_t end_ = 0;
  uint64_t filled_ = 0;
  bool at_end_ = false;
};

// Reads the file's bytes as they lie. Throws StreamError when it can't be opened.
std::unique_ptr<Stream> open_file(const std::string& path, Meter* meter);

// Returns the same stream, decompressed where its first bytes say zstd (windows up to 128 MiB), gzip or bzip2;
// concatenated frames are one stream. Cut or damaged data throws StreamError with the offset in the compressed
// bytes.
std::unique_ptr<BufferedStream> decompressed(std::unique_ptr<Stream> stream);

// Reads bytes in memory, for tests and for small contents.
std::unique_ptr<Stream> memory_stream(base::Bytes bytes);

}  // namespace datasets
