// A LineReader reads a stream line by line.
#pragma once

#include <optional>

#include "datasets/input/stream.h"

namespace datasets {

class LineReader {
 public:
  // A line longer than bytes_max is cut; too_long() says so.
  explicit LineReader(BufferedStream& from, size_t bytes_max = size_t{64} << 20) : from_(from), bytes_max_(bytes_max) {}

  // Returns the next line without its end (LF or CR LF), valid until the next call; nullopt at the end. Throws
  // StreamError.
  std::optional<std::string_view> next();

  bool too_long() const { return too_long_; }
  uint64_t offset() const { return offset_; }  // of the line's first byte
  uint64_t line() const { return line_; }      // from 1

 private:
  BufferedStream& from_;
  size_t bytes_max_;
  size_t taken_ = 0;   // bytes of from_'s buffer behind the last line, consumed on the next call
  std::string whole_;  // a line that didn't lie in the buffer in one piece
  uint64_t offset_ = 0;
  uint64_t line_ = 0;
  bool too_long_ = false;
};

}  // namespace datasets
