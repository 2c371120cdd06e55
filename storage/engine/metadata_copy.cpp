#include "storage/engine/metadata_copy.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wiredtiger.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/hash.h"
#include "base/log.h"
#include "storage/engine/durable_files.h"

namespace storage {
namespace {

using base::Bytes;
using base::BytesView;

constexpr int log_no_copy = 7200530;
constexpr int log_restored = 7200531;
constexpr uint8_t format_version = 2;
constexpr size_t header_bytes = 1 + 2 * sizeof(uint64_t);
constexpr uint64_t turtle_bytes_max = 1 << 20;
constexpr size_t piece_bytes = 1 << 20;
constexpr int level = 1;
constexpr char turtle_file[] = "WiredTiger.turtle";
constexpr char metadata_file[] = "WiredTiger.wt";
constexpr char damaged_file[] = "WiredTiger.damaged";  // WiredTiger.wt until its copy has proved to be sound
constexpr char draft_suffix[] = ".new";
// A file of WiredTiger's consists of blocks of whole units. | header of the page, 28 | block's bytes, 4 | checksum, 4 | flags, 1
// | …
constexpr size_t unit_bytes = 4096, block_bytes_at = 28, checksum_at = 32, flags_at = 36, checked_prefix = 64;
constexpr char whole_check = 1;  // the checksum is of the whole block, not of its first bytes alone
constexpr uint32_t block_bytes_max = 64 << 20;

// This is a file that is read.
class File {
 public:
  explicit File(std::string path) : path_(std::move(path)), file_(::open(path_.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~File() {
    if (file_ >= 0) ::close(file_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  bool is_open() const { return file_ >= 0; }
  const std::string& path() const { return path_; }

  uint64_t bytes() const {
    struct stat found {};
    if (::fstat(file_, &found) != 0) file_error("look at " + path_, errno);
    return static_cast<uint64_t>(found.st_size);
  }
  // Reads up to this many bytes; fewer only if the file ends before them.
  Bytes read(uint64_t offset, uint64_t bytes) const {
    Bytes out(bytes, '\0');
    size_t done = 0;
    while (done < bytes) {
      const ssize_t got = ::pread(file_, out.data() + done, bytes - done, static_cast<off_t>(offset + done));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) file_error("read " + path_, errno);
      if (got == 0) break;
      done += static_cast<size_t>(got);
    }
    out.resize(done);
    return out;
  }

 private:
  const std::string path_;
  const int file_;
};

// This is a file that is written beside the one that it replaces.
class Draft {
 public:
  explicit Draft(std::string path)
      : path_(std::move(path)), draft_(path_ + draft_suffix), file_(draft_, O_WRONLY | O_CREAT | O_TRUNC) {}
  ~Draft() {
    if (!done_) ::unlink(draft_.c_str());
  }
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;

  void write(BytesView bytes) const { file_.write(bytes); }
  void complete() {
    file_.sync();
    if (::rename(draft_.c_str(), path_.c_str()) != 0) file_error("create " + path_, errno);
    done_ = true;
  }

 private:
  const std::string path_, draft_;
  const DurableFile file_;
  bool done_ = false;
};

// The hash of a sequence of pieces, each of which begins where the last one ended.
class RunningHash {
 public:
  void add(BytesView piece) { hash_ = base::hash64(piece, hash_); }
  uint64_t value() const { return hash_; }

 private:
  uint64_t hash_ = 0;
};

// Calls `use` with one piece after another. Returns false if the file ends before `end`, or as soon as `use` does.
template <class Use>
bool each_piece(const File& file, uint64_t begin, uint64_t end, Use use) {
  for (uint64_t at = begin; at < end; at += piece_bytes) {
    const uint64_t wanted = std::min<uint64_t>(piece_bytes, end - at);
    const Bytes piece = file.read(at, wanted);
    if (piece.size() != wanted || !use(BytesView(piece))) return false;
  }
  return true;
}

// Returns the whole file, or nothing if it is missing, can't be read, or is larger than any turtle is.
std::string read_turtle(const std::string& directory) {
  try {
    const File file(directory + "/" + turtle_file);
    if (!file.is_open() || file.bytes() > turtle_bytes_max) return {};
    return file.read(0, turtle_bytes_max);
  } catch (const base::OperationError&) {
    return {};
  }
}

// Returns where in WiredTiger.wt the turtle's checkpoint is, in WiredTiger's own form.
std::string_view address_in(std::string_view turtle) {
  constexpr std::string_view before = "addr=\"";
  const size_t at = turtle.find(before);
  if (at == turtle.npos) return {};
  const size_t begin = at + before.size();
  return turtle.substr(begin, turtle.find('"', begin) - begin);
}

// Returns how many bytes the block has that begins there; 0 if none does whose checksum is right.
uint32_t whole_block(const File& file, uint64_t at) {
  Bytes block = file.read(at, unit_bytes);
  if (block.size() != unit_bytes) return 0;
  const auto bytes = base::load_le<uint32_t>(block.data() + block_bytes_at);
  if (bytes == 0 || bytes % unit_bytes != 0 || bytes > block_bytes_max) return 0;
  if (bytes > unit_bytes) block = file.read(at, bytes);
  if (block.size() != bytes) return 0;
  const auto checksum = base::load_le<uint32_t>(block.data() + checksum_at);
  std::fill_n(block.data() + checksum_at, sizeof checksum, '\0');
  const size_t checked = (block[flags_at] & whole_check) != 0 ? bytes : checked_prefix;
  return wiredtiger_crc32c_func()(block.data(), checked) == checksum ? bytes : 0;
}

Bytes compress(BytesView piece) {
  Bytes frame(ZSTD_compressBound(piece.size()), '\0');
  const size_t bytes = ZSTD_compress(frame.data(), frame.size(), piece.data(), piece.size(), level);
  if (ZSTD_isError(bytes)) throw base::OperationError(base::ErrorCode::internal_error, ZSTD_getErrorName(bytes));
  frame.resize(bytes);
  return frame;
}

// This is the copy that there is. It is of use if its hash is right.
class Stored {
 public:
  explicit Stored(const std::string& directory) : file_(directory + "/" + metadata_copy_file) {
    try {
      valid_ = file_.is_open() && read();
    } catch (const base::OperationError&) {
      valid_ = false;
    }
  }

  bool valid() const { return valid_; }
  const std::string& turtle() const { return turtle_; }

  // Returns whether the directory's file is as it was copied.
  bool metadata_is_in(const std::string& directory) const try {
    const File file(directory + "/" + metadata_file);
    if (!file.is_open() || file.bytes() != metadata_bytes_) return false;
    RunningHash hash;
    const bool whole = each_piece(file, 0, metadata_bytes_, [&](BytesView piece) {
      hash.add(piece);
      return true;
    });
    return whole && hash.value() == metadata_hash_;
  } catch (const base::OperationError&) {
    return false;
  }
  // Returns a part of the copied file that lies within one piece; less at the file's end. Parts are asked for in their order.
  Bytes metadata(uint64_t at, uint64_t bytes) {
    if (!valid_ || at >= metadata_bytes_) return {};
    if (const size_t wanted = at / piece_bytes; wanted != unpacked_) {
      piece_ = unpack(wanted);
      unpacked_ = wanted;
    }
    return piece_.substr(at % piece_bytes, bytes);
  }
  void write_metadata(const Draft& draft) const {
    for (size_t i = 0; i < frames_.size(); ++i) draft.write(unpack(i));
  }

 private:
  bool read() {
    const Bytes header = file_.read(0, header_bytes);
    if (header.size() != header_bytes || static_cast<uint8_t>(header[0]) != format_version) return false;
    const auto turtle_bytes = base::load_le<uint64_t>(header.data() + 1);
    metadata_bytes_ = base::load_le<uint64_t>(header.data() + 1 + sizeof(uint64_t));
    const uint64_t bytes = file_.bytes();
    constexpr uint64_t end_bytes = 2 * sizeof(uint64_t);
    if (turtle_bytes > turtle_bytes_max || bytes < header_bytes + turtle_bytes + end_bytes) return false;
    turtle_ = file_.read(header_bytes, turtle_bytes);
    RunningHash hash;
    hash.add(header);
    hash.add(turtle_);
    uint64_t at = header_bytes + turtle_bytes;
    for (uint64_t copied = 0; copied < metadata_bytes_; copied += piece_bytes) {
      if (bytes - end_bytes - at < sizeof(uint32_t)) return false;
      const Bytes length = file_.read(at, sizeof(uint32_t));
      if (length.size() != sizeof(uint32_t)) return false;
      const Frame frame{at + sizeof(uint32_t), base::load_le<uint32_t>(length.data())};
      if (frame.bytes > ZSTD_compressBound(piece_bytes) || frame.bytes > bytes - end_bytes - frame.at) return false;
      hash.add(length);
      hash.add(file_.read(frame.at, frame.bytes));
      frames_.push_back(frame);
      at = frame.at + frame.bytes;
    }
    const Bytes end = file_.read(at, end_bytes);
    if (at + end_bytes != bytes || end.size() != end_bytes) return false;
    metadata_hash_ = base::load_le<uint64_t>(end.data());
    hash.add(BytesView(end).substr(0, sizeof(uint64_t)));
    return base::load_le<uint64_t>(end.data() + sizeof(uint64_t)) == hash.value();
  }
  struct Frame {
    uint64_t at;
    uint32_t bytes;
  };

  Bytes unpack(size_t piece) const {
    const Bytes frame = file_.read(frames_[piece].at, frames_[piece].bytes);
    Bytes out(std::min<uint64_t>(piece_bytes, metadata_bytes_ - piece * piece_bytes), '\0');
    if (ZSTD_decompress(out.data(), out.size(), frame.data(), frame.size()) != out.size())
      throw base::OperationError(base::ErrorCode::internal_error, "cannot read " + file_.path());
    return out;
  }

  const File file_;
  std::string turtle_;
  uint64_t metadata_bytes_ = 0, metadata_hash_ = 0;
  std::vector<Frame> frames_;
  size_t unpacked_ = SIZE_MAX;  // the piece with this number
  Bytes piece_;
  bool valid_ = false;
};

// Calls `use` with the file's bytes up to `end`, and with those that are to be copied. WiredTiger writes whole blocks. So where
// the file isn't as it was copied, and no whole block has been written since, it is damaged there, or being written to: then the
// last copy's bytes are used, if there are any. A block that is being written is none of the newest checkpoint's.
template <class Use>
bool each_sound_piece(const File& file, uint64_t end, Stored& last, Use use) {
  uint64_t whole_to = 0;  // what is before this belongs to a whole block
  for (uint64_t at = 0; at < end; at += unit_bytes) {
    const uint64_t wanted = std::min<uint64_t>(unit_bytes, end - at);
    const Bytes unit = file.read(at, wanted);
    if (unit.size() != wanted) return false;
    Bytes before;
    if (at >= whole_to) {
      before = last.metadata(at, wanted);
      if (before == unit) before.clear();
      if (before.size() == wanted) {
        if (const uint32_t block = whole_block(file, at); block != 0) {
          whole_to = at + block;
          before.clear();
        }
      }
    }
    use(unit, before.size() == wanted ? before : unit);
  }
  return true;
}

void say_restored(const char* file) {
  base::log(base::Severity::warning, base::LogComponent::storage, log_restored,
            "A file of WiredTiger's metadata was damaged, and is restored from its copy",
            base::Attributes().add("file", file).add("copy", metadata_copy_file));
}

void say_no_copy(const char* what, const std::exception& error) {
  base::log(base::Severity::warning, base::LogComponent::storage, log_no_copy, what,
            base::Attributes().add("error", error.what()));
}

// Puts the copied WiredTiger.wt in the damaged one's place, which comes back if that one isn't sound either.
bool replace_metadata(const std::string& directory, const Stored& copy, const std::function<bool()>& sound) {
  const std::string metadata = directory + "/" + metadata_file, damaged = directory + "/" + damaged_file;
  Draft draft(metadata);
  copy.write_metadata(draft);
  if (::rename(metadata.c_str(), damaged.c_str()) != 0 && errno != ENOENT) file_error("rename " + metadata, errno);
  bool restored = false;
  try {
    draft.complete();
    restored = sound();
  } catch (...) {
    ::rename(damaged.c_str(), metadata.c_str());
    throw;
  }
  if (restored)
    ::unlink(damaged.c_str());
  else
    ::rename(damaged.c_str(), metadata.c_str());
  return restored;
}

}  // namespace

MetadataCopy::MetadataCopy(std::string directory) : directory_(std::move(directory)) {}

void MetadataCopy::take() {
  given_up_ = false;
  try {
    const std::string turtle = read_turtle(directory_);
    if (turtle.empty() || turtle == copied_turtle_) return;
    copy(turtle);
  } catch (const std::exception& error) {
    say_no_copy("WiredTiger's metadata can't be copied", error);
    give_up();
  }
}

void MetadataCopy::copy(const std::string& turtle) {
  const File metadata(directory_ + "/" + metadata_file);
  if (!metadata.is_open()) file_error("open " + metadata.path(), errno);
  const uint64_t bytes = metadata.bytes();
  Bytes header(1, static_cast<char>(format_version));
  base::append_le(header, static_cast<uint64_t>(turtle.size()));
  base::append_le(header, bytes);
  Draft draft(directory_ + "/" + metadata_copy_file);
  RunningHash hash;
  RunningHash as_it_was;
  Bytes was, piece;
  const auto add = [&](BytesView part) {
    hash.add(part);
    draft.write(part);
  };
  const auto flush = [&] {
    as_it_was.add(was);  // in pieces of the size in which it is read again
    const Bytes frame = compress(piece);
    Bytes length;
    base::append_le(length, static_cast<uint32_t>(frame.size()));
    add(length);
    add(frame);
    was.clear();
    piece.clear();
  };
  add(header);
  add(turtle);
  Stored last(directory_);
  const bool whole = each_sound_piece(metadata, bytes, last, [&](const Bytes& unit, const Bytes& sound) {
    was.append(unit);
    piece.append(sound);
    if (piece.size() == piece_bytes) flush();
  });
  if (!whole) return;
  if (!piece.empty()) flush();
  Bytes end;
  base::append_le(end, as_it_was.value());
  hash.add(end);
  base::append_le(end, hash.value());
  draft.write(end);
  if (read_turtle(directory_) != turtle) return;
  draft.complete();
  copied_turtle_ = turtle;
}

bool MetadataCopy::give_up() {
  given_up_ = true;
  copied_turtle_.clear();
  const std::string path = directory_ + "/" + metadata_copy_file;
  ::unlink((path + draft_suffix).c_str());
  return ::unlink(path.c_str()) == 0;
}

uint64_t MetadataCopy::metadata_bytes() const {
  std::error_code error;
  const uint64_t bytes = std::filesystem::file_size(directory_ + "/" + metadata_file, error);
  return error ? 0 : bytes;
}

void MetadataCopy::restore(const std::function<bool()>& sound) try {
  const Stored copy(directory_);
  if (!copy.valid()) return;
  const std::string turtle = read_turtle(directory_);
  const bool same_turtle = turtle == copy.turtle();
  const bool same_metadata = copy.metadata_is_in(directory_);
  if (same_turtle && same_metadata) {
    // A crash may have come before the copy had proved to be sound.
    const std::string damaged = directory_ + "/" + damaged_file, metadata = directory_ + "/" + metadata_file;
    if (::access(damaged.c_str(), F_OK) != 0) return;
    if (sound())
      ::unlink(damaged.c_str());
    else
      ::rename(damaged.c_str(), metadata.c_str());
    return;
  }
  if (same_metadata) {
    // A turtle of another checkpoint has another address. Then WiredTiger.wt was copied when that one was nearly complete.
    // Without a turtle WiredTiger would begin its metadata anew.
    const std::string_view address = address_in(turtle);
    if (!address.empty() && address != address_in(copy.turtle()) && sound()) return;
    Draft draft(directory_ + "/" + turtle_file);
    draft.write(copy.turtle());
    draft.complete();
    say_restored(turtle_file);
  } else if (same_turtle && !sound()) {
    if (replace_metadata(directory_, copy, sound)) say_restored(metadata_file);
  }
} catch (const std::exception& error) {
  say_no_copy("WiredTiger's metadata can't be compared with its copy", error);
}

}  // namespace storage
