// The input is taken as a tar archive, once the checksums of its headers are put right: each member can be read to its end, or
// the archive ends with a StreamError. It is also taken as a compressed stream.
#include "base/fuzz_target.h"
#include "datasets/input/tar.h"

namespace {

using namespace datasets;

constexpr size_t block = 512, checksum_at = 148, checksum_bytes = 8;
constexpr uint64_t content_bytes_max = 1 << 22;

// Octal, as tar writes it: six digits, NUL, blank.
void put_checksum_right(char* header) {
  std::fill(header + checksum_at, header + checksum_at + checksum_bytes, ' ');
  unsigned sum = 0;
  for (size_t i = 0; i < block; ++i) sum += static_cast<uint8_t>(header[i]);
  for (size_t digit = 6; digit > 0; --digit, sum /= 8) header[checksum_at + digit - 1] = static_cast<char>('0' + sum % 8);
  header[checksum_at + 6] = '\0';
}

// Tells whether it could be read to its end, or very far.
bool drained(Stream& stream) {
  char buffer[4096];
  try {
    for (uint64_t read = 0; read < content_bytes_max;) {
      const size_t got = stream.read(buffer, sizeof buffer);
      if (got == 0) return true;
      base::check(got <= sizeof buffer);
      read += got;
    }
    return true;
  } catch (const StreamError&) {
    return false;
  }
}

std::unique_ptr<BufferedStream> buffered(base::BytesView bytes) {
  return std::make_unique<BufferedStream>(memory_stream(base::Bytes(bytes)));
}

bool check_archive(base::BytesView bytes) {
  TarReader::recognizes(bytes.substr(0, block));
  TarReader archive(buffered(bytes));
  bool some = false;
  try {
    while (const auto member = archive.next()) {
      some = drained(*archive.content()) || some;
    }
  } catch (const StreamError&) {
    base::check(!archive.next(), "a broken archive has ended");
  }
  return some;
}

bool check_decompressed(base::BytesView bytes) {
  try {
    return drained(*decompressed(memory_stream(base::Bytes(bytes))));
  } catch (const StreamError&) {
    return false;
  }
}

bool run(base::BytesView input) {
  base::Bytes archive(input);
  for (size_t at = 0; at + block <= archive.size(); at += block) put_checksum_right(archive.data() + at);
  const bool members = check_archive(archive);
  check_archive(input);
  return check_decompressed(input) || members;
}

base::Bytes header(const std::string& name, char type, size_t bytes) {
  base::Bytes out(block, '\0');
  std::copy(name.begin(), name.end(), out.begin());
  for (size_t digit = 11; digit > 0; --digit, bytes /= 8) out[124 + digit - 1] = static_cast<char>('0' + bytes % 8);
  out[156] = type;
  const std::string magic(
      "ustar\0"
      "00",
      8);
  std::copy(magic.begin(), magic.end(), out.begin() + 257);
  put_checksum_right(out.data());
  return out;
}

base::Bytes member(const std::string& name, char type, base::Bytes content) {
  base::Bytes out = header(name, type, content.size());
  content.resize((content.size() + block - 1) / block * block);
  return out + content;
}

std::vector<base::Bytes> seeds() {
  return {member("folder/file", '0', "content") + base::Bytes(2 * block, '\0'),
          member("././@LongLink", 'L', std::string(120, 'n')) + member("short", '0', "x") +
              member("pax", 'x', "17 path=new name\n") + member("old", '0', ""),
          base::Bytes("\x1f\x8b\x08\0\0\0\0\0\0\x03\x4b\x4c\x4a\x06\0\xc2\x41\x24\x35\x03\0\0\0", 23)};
}

const base::FuzzTarget target("tar", run, seeds);

}  // namespace
