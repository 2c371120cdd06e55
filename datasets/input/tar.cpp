#include "datasets/input/tar.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace datasets {

class TarContent : public Stream {
 public:
  explicit TarContent(TarReader& reader) : reader_(reader) {}
  size_t read(char* to, size_t bytes_max) override { return reader_.read(to, bytes_max); }

 private:
  TarReader& reader_;
};

namespace {

constexpr size_t block = 512;
constexpr uint64_t name_bytes_max = 1 << 20;

std::string_view field(base::BytesView header, size_t at, size_t bytes) {
  const std::string_view text = header.substr(at, bytes);
  return text.substr(0, text.find('\0'));
}

// Octal digits, or big-endian binary when the top bit is set (sizes of 8 GB and more).
std::optional<uint64_t> number(base::BytesView text) {
  if (static_cast<uint8_t>(text[0]) & 0x80) {
    uint64_t value = static_cast<uint8_t>(text[0]) & 0x3f;
    for (const char c : text.substr(1)) value = (value << 8) | static_cast<uint8_t>(c);
    return value;
  }
  uint64_t value = 0;
  bool digits = false;
  for (const char c : text) {
    if (c == ' ' && !digits) continue;
    if (c < '0' || c > '7') break;
    value = value * 8 + static_cast<uint64_t>(c - '0');
    digits = true;
  }
  return digits ? std::optional(value) : std::nullopt;
}

bool checksum_holds(base::BytesView header) {
  uint64_t sum = 0;
  for (size_t i = 0; i < block; ++i) sum += i >= 148 && i < 156 ? ' ' : static_cast<uint8_t>(header[i]);
  return number(header.substr(148, 8)) == sum;
}

// A pax record is "<length> <key>=<value>\n", its own length included.
std::string pax_path(std::string_view records) {
  while (!records.empty()) {
    size_t length = 0;
    const auto [digits_end, error] = std::from_chars(records.data(), records.data() + records.size(), length);
    const auto digits = static_cast<size_t>(digits_end - records.data());
    if (error != std::errc() || length <= digits + 1 || length > records.size()) return {};
    const std::string_view entry = records.substr(digits + 1, length - digits - 2);
    if (entry.substr(0, 5) == "path=") return std::string(entry.substr(5));
    records.remove_prefix(length);
  }
  return {};
}

}  // namespace

bool TarReader::recognizes(base::BytesView head) {
  return head.size() >= block && head.substr(257, 5) == "ustar" && checksum_holds(head);
}

std::optional<TarReader::Member> TarReader::next() {
  std::string long_name;
  if (std::exchange(broken_, true)) return std::nullopt;  // until the header has been read
  for (;;) {
    skip_rest();
    const base::BytesView header = archive_->peek(block);
    if (header.empty()) return std::nullopt;  // the two closing blocks of zeros are often missing
    if (header.size() < block) throw StreamError("tar: a header is cut short at byte " + std::to_string(archive_->offset()));
    if (header[0] == '\0') return std::nullopt;
    const auto bytes = number(header.substr(124, 12));
    if (!checksum_holds(header) || !bytes || *bytes > (uint64_t{1} << 60)) {
      throw StreamError("tar: a header is damaged at byte " + std::to_string(archive_->offset()));
    }
    const char type = header[156];
    std::string name(field(header, 0, 100));
    if (header.substr(257, 6) == std::string_view("ustar\0", 6)) {
      const std::string_view prefix = field(header, 345, 155);
      if (!prefix.empty()) name = std::string(prefix) + "/" + name;
    }
    archive_->take(block);
    left_ = *bytes;
    padding_ = (block - left_ % block) % block;

    if (type == 'L')
      long_name = read_text(left_);
    else if (type == 'x') {
      if (auto path = pax_path(read_text(left_)); !path.empty()) long_name = std::move(path);
    } else if (type != 'g' && type != 'K') {
      Member member{long_name.empty() ? std::move(name) : std::move(long_name), left_,
                    type == '0' || type == '\0' || type == '7'};
      broken_ = false;
      while (!member.path.empty() && member.path.back() == '\0') member.path.pop_back();
      return member;
    }
  }
}

std::unique_ptr<Stream> TarReader::content() {
  return std::make_unique<TarContent>(*this);
}

size_t TarReader::read(char* to, size_t bytes_max) {
  if (left_ == 0) return 0;
  broken_ = true;
  const size_t got = archive_->read(to, static_cast<size_t>(std::min<uint64_t>(bytes_max, left_)));
  if (got == 0) throw StreamError("tar: a member is cut short at byte " + std::to_string(archive_->offset()));
  broken_ = false;
  left_ -= got;
  return got;
}

std::string TarReader::read_text(uint64_t bytes) {
  if (bytes > name_bytes_max)
    throw StreamError("tar: an extended header is too long at byte " + std::to_string(archive_->offset()));
  std::string text(bytes, '\0');
  for (size_t at = 0; at < text.size();) at += read(text.data() + at, text.size() - at);
  return text;
}

void TarReader::skip_rest() {
  for (uint64_t skip = left_ + padding_; skip > 0;) {
    const base::BytesView ready = archive_->chunk();
    if (ready.empty()) {
      if (skip <= padding_) break;  // only the padding of the last member is missing
      throw StreamError("tar: a member is cut short at byte " + std::to_string(archive_->offset()));
    }
    const uint64_t bytes = std::min<uint64_t>(skip, ready.size());
    archive_->take(bytes);
    skip -= bytes;
  }
  left_ = padding_ = 0;
}

}  // namespace datasets
