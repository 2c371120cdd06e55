#include <bzlib.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>

#include "datasets/input/stream.h"

namespace datasets {
namespace {

// Every decompressor reads from this buffer, which knows its place in the compressed bytes.
class Compressed {
 public:
  explicit Compressed(std::unique_ptr<Stream> from) : from_(std::move(from)), buffer_(new char[capacity]) {}

  // Returns false at the end.
  bool refill() {
    end_ = from_->read(buffer_.get(), capacity);
    at_ = 0;
    read_ += end_;
    return end_ > 0;
  }
  char* data() { return buffer_.get() + at_; }
  size_t size() const { return end_ - at_; }
  void take(size_t bytes) { at_ += bytes; }

  [[noreturn]] void fail(const std::string& format, const std::string& what) const {
    throw StreamError(format + ": " + what + " at compressed byte " + std::to_string(read_ - size()));
  }

 private:
  static constexpr size_t capacity = 128 * 1024;
  std::unique_ptr<Stream> from_;
  std::unique_ptr<char[]> buffer_;
  size_t at_ = 0;
  size_t end_ = 0;
  uint64_t read_ = 0;
};

class ZstdStream : public Stream {
 public:
  explicit ZstdStream(std::unique_ptr<Stream> from) : in_(std::move(from)), context_(ZSTD_createDCtx()) {
    ZSTD_DCtx_setParameter(context_, ZSTD_d_windowLogMax, 27);
  }
  ~ZstdStream() override { ZSTD_freeDCtx(context_); }

  size_t read(char* to, size_t bytes_max) override {
    ZSTD_outBuffer out{to, bytes_max, 0};
    while (out.pos == 0) {
      if (in_.size() == 0 && !flushing_ && !in_.refill()) {
        if (in_frame_) in_.fail("zstd", "the data is cut short");
        return 0;
      }
      ZSTD_inBuffer in{in_.data(), in_.size(), 0};
      const size_t left = ZSTD_decompressStream(context_, &out, &in);
      if (ZSTD_isError(left)) in_.fail("zstd", ZSTD_getErrorName(left));
      in_.take(in.pos);
      in_frame_ = left != 0;
      flushing_ = in_frame_ && out.pos == out.size;  // more may be waiting inside
    }
    return out.pos;
  }

 private:
  Compressed in_;
  ZSTD_DCtx* context_;
  bool in_frame_ = false;
  bool flushing_ = false;
};

class GzipStream : public Stream {
 public:
  explicit GzipStream(std::unique_ptr<Stream> from) : in_(std::move(from)) { open_ = inflateInit2(&z_, 15 + 16) == Z_OK; }
  ~GzipStream() override { inflateEnd(&z_); }

  size_t read(char* to, size_t bytes_max) override {
    if (!open_) throw StreamError("gzip: out of memory");
    const auto room = static_cast<uInt>(std::min<size_t>(bytes_max, 1 << 30));
    z_.next_out = reinterpret_cast<Bytef*>(to);
    z_.avail_out = room;
    while (z_.avail_out == room) {
      if (in_.size() == 0 && !in_.refill()) {
        if (in_member_) in_.fail("gzip", "the data is cut short");
        return 0;
      }
      if (!in_member_) {
        // Zero padding may follow the last member.
        while (in_.size() > 0 && *in_.data() == 0 && members_ > 0) in_.take(1);
        if (in_.size() == 0) continue;
        inflateReset(&z_);
        in_member_ = true;
      }
      z_.next_in = reinterpret_cast<Bytef*>(in_.data());
      z_.avail_in = static_cast<uInt>(in_.size());
      const int status = inflate(&z_, Z_NO_FLUSH);
      in_.take(in_.size() - z_.avail_in);
      if (status == Z_STREAM_END)
        in_member_ = false, ++members_;
      else if (status != Z_OK && status != Z_BUF_ERROR)
        in_.fail("gzip", z_.msg ? z_.msg : "damaged data");
    }
    return room - z_.avail_out;
  }

 private:
  Compressed in_;
  z_stream z_{};
  bool open_ = false;
  bool in_member_ = false;
  uint64_t members_ = 0;
};

class Bzip2Stream : public Stream {
 public:
  explicit Bzip2Stream(std::unique_ptr<Stream> from) : in_(std::move(from)) {}
  ~Bzip2Stream() override { close(); }

  size_t read(char* to, size_t bytes_max) override {
    const auto room = static_cast<unsigned>(std::min<size_t>(bytes_max, 1 << 30));
    z_.next_out = to;
    z_.avail_out = room;
    while (z_.avail_out == room) {
      if (in_.size() == 0 && !in_.refill()) {
        if (open_) in_.fail("bzip2", "the data is cut short");
        return 0;
      }
      if (!open_) open();
      z_.next_in = in_.data();
      z_.avail_in = static_cast<unsigned>(in_.size());
      const int status = BZ2_bzDecompress(&z_);
      in_.take(in_.size() - z_.avail_in);
      if (status == BZ_STREAM_END)
        close();
      else if (status != BZ_OK)
        in_.fail("bzip2", "damaged data");
    }
    return room - z_.avail_out;
  }

 private:
  // Dumps that were written in parallel are many small bzip2 streams in a row.
  void open() {
    char* next_out = z_.next_out;
    const unsigned avail_out = z_.avail_out;
    z_ = bz_stream{};
    if (BZ2_bzDecompressInit(&z_, 0, 0) != BZ_OK) throw StreamError("bzip2: out of memory");
    z_.next_out = next_out;
    z_.avail_out = avail_out;
    open_ = true;
  }
  void close() {
    if (open_) BZ2_bzDecompressEnd(&z_);
    open_ = false;
  }

  Compressed in_;
  bz_stream z_{};
  bool open_ = false;
};

bool starts_with(base::BytesView bytes, base::BytesView magic) {
  return bytes.substr(0, magic.size()) == magic;
}

}  // namespace

std::unique_ptr<BufferedStream> decompressed(std::unique_ptr<Stream> stream) {
  auto raw = std::make_unique<BufferedStream>(std::move(stream));
  const base::BytesView head = raw->peek(4);
  std::unique_ptr<Stream> inner;
  if (starts_with(head, "\x28\xb5\x2f\xfd"))
    inner = std::make_unique<ZstdStream>(std::move(raw));
  else if (starts_with(head, "\x1f\x8b"))
    inner = std::make_unique<GzipStream>(std::move(raw));
  else if (starts_with(head, "BZh"))
    inner = std::make_unique<Bzip2Stream>(std::move(raw));
  else
    return raw;
  return std::make_unique<BufferedStream>(std::move(inner));
}

}  // namespace datasets
