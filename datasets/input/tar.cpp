#include "datasets/input/tar.h"

#include <archive.h>
#include <archive_entry.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <new>
#include <utility>

namespace datasets {

// libarchive's reader, and the stream that it reads from.
struct TarReader::Library {
  explicit Library(std::unique_ptr<BufferedStream> archive);
  ~Library() { archive_read_free(reader); }
  Library(const Library&) = delete;

  std::optional<Member> next();
  size_t read(char* to, size_t bytes_max);

  // Ends the archive and throws what went wrong: the stream's own error, or libarchive's.
  [[noreturn]] void fail();
  static la_ssize_t feed(::archive* reader, void* self, const void** bytes);

  std::unique_ptr<BufferedStream> from;
  ::archive* reader;
  size_t lent = 0;            // bytes of from's buffer that libarchive still reads
  std::exception_ptr thrown;  // by from; an exception can't pass through libarchive
  uint64_t size = 0;          // of the current member
  uint64_t at = 0;            // bytes of it that have been read
  base::BytesView block;      // the next of its bytes that libarchive has, and where in the member they begin
  uint64_t block_at = 0;
  bool opened = false;
  bool ended = false;
};

TarReader::Library::Library(std::unique_ptr<BufferedStream> archive) : from(std::move(archive)), reader(archive_read_new()) {
  if (!reader) throw std::bad_alloc();
  archive_read_support_format_tar(reader);
}

la_ssize_t TarReader::Library::feed(::archive* reader, void* self, const void** bytes) {
  auto& library = *static_cast<Library*>(self);
  try {
    library.from->take(std::exchange(library.lent, 0));
    const base::BytesView chunk = library.from->chunk();
    *bytes = chunk.data();
    library.lent = chunk.size();
    return static_cast<la_ssize_t>(chunk.size());
  } catch (...) {
    library.thrown = std::current_exception();
    archive_set_error(reader, EIO, "cannot read");
    return -1;
  }
}

void TarReader::Library::fail() {
  ended = true;
  if (thrown) std::rethrow_exception(std::exchange(thrown, nullptr));
  const char* what = archive_error_string(reader);
  throw StreamError(std::string("tar: ") + (what ? what : "damaged data") + " at byte " +
                    std::to_string(archive_filter_bytes(reader, 0)));
}

std::optional<TarReader::Member> TarReader::Library::next() {
  if (ended) return std::nullopt;
  if (!std::exchange(opened, true) && archive_read_open(reader, this, nullptr, feed, nullptr) != ARCHIVE_OK) fail();
  archive_entry* entry = nullptr;
  const int status = archive_read_next_header(reader, &entry);
  if (status == ARCHIVE_EOF) {
    ended = true;
    return std::nullopt;
  }
  // A warning says that a name isn't in the locale's encoding.
  if (status != ARCHIVE_OK && status != ARCHIVE_WARN) fail();
  const char* path = archive_entry_pathname(entry);
  if (!path) path = archive_entry_pathname_utf8(entry);
  const bool file = archive_entry_filetype(entry) == AE_IFREG && !archive_entry_hardlink(entry);
  size = file ? static_cast<uint64_t>(std::max<la_int64_t>(archive_entry_size(entry), 0)) : 0;
  at = block_at = 0;
  block = {};
  return Member{path ? path : "", file};
}

// Doesn't use archive_read_data, because that drops what it has read when it meets an error.
size_t TarReader::Library::read(char* to, size_t bytes_max) {
  if (ended || at == size) return 0;
  while (block.empty() && block_at != size) {
    const void* bytes = nullptr;
    size_t count = 0;
    la_int64_t offset = 0;
    const int status = archive_read_data_block(reader, &bytes, &count, &offset);
    if (status != ARCHIVE_OK && status != ARCHIVE_EOF && status != ARCHIVE_WARN) fail();
    block = {static_cast<const char*>(bytes), status == ARCHIVE_EOF ? 0 : count};
    block_at = status == ARCHIVE_EOF ? size : static_cast<uint64_t>(offset);
  }
  // The bytes that a sparse file leaves out are zeros.
  const bool hole = at < block_at;
  const auto count = static_cast<size_t>(std::min<uint64_t>({bytes_max, size - at, hole ? block_at - at : block.size()}));
  if (hole) {
    std::memset(to, 0, count);
  } else {
    std::memcpy(to, block.data(), count);
    block.remove_prefix(count);
    block_at += count;
  }
  at += count;
  return count;
}

class TarReader::Content : public Stream {
 public:
  explicit Content(Library& library) : library_(library) {}
  size_t read(char* to, size_t bytes_max) override { return library_.read(to, bytes_max); }

 private:
  Library& library_;
};

TarReader::TarReader(std::unique_ptr<BufferedStream> archive) : library_(std::make_unique<Library>(std::move(archive))) {}

TarReader::~TarReader() = default;

bool TarReader::recognizes(base::BytesView head) {
  return head.size() >= 512 && head.substr(257, 5) == "ustar";
}

std::optional<TarReader::Member> TarReader::next() {
  return library_->next();
}

std::unique_ptr<Stream> TarReader::content() {
  return std::make_unique<Content>(*library_);
}

}  // namespace datasets
