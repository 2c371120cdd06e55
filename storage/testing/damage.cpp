#include "storage/testing/damage.h"

#include <wiredtiger.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "base/bytes.h"
#include "base/error.h"

namespace storage::test {
namespace {

using base::Bytes;

// | recno, 8 | write generation, 8 | bytes in memory, 4 | entries, 4 | type, 1 | flags, 1 | 0, 1 | version, 1 |
// | block's bytes, 4 | checksum, 4 | flags, 1 | 0, 3 |
constexpr size_t type_at = 24, bytes_at = 28, checksum_at = 32, flags_at = 36, headers = 40;
constexpr size_t checked_prefix = 64;  // it is checked if the flag of a whole check is not set
constexpr char row_leaf = 7, whole_check = 1;
constexpr size_t unit = 512;

Bytes read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  base::check(in.good(), "a file to damage is there");
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

void write_at(const std::string& path, uint64_t offset, base::BytesView bytes) {
  std::fstream out(path, std::ios::binary | std::ios::in | std::ios::out);
  out.seekp(static_cast<std::streamoff>(offset));
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  base::check(out.good(), "a file can be damaged");
}

}  // namespace

std::vector<FileBlock> file_blocks(const std::string& path) {
  std::vector<FileBlock> blocks;
  Bytes file = read_file(path);
  for (size_t at = unit; at + unit <= file.size(); at += unit) {
    const auto bytes = base::load_le<uint32_t>(file.data() + at + bytes_at);
    if (bytes == 0 || bytes % unit != 0 || bytes > file.size() - at) continue;
    const auto checksum = base::load_le<uint32_t>(file.data() + at + checksum_at);
    const bool whole = file[at + flags_at] & whole_check;
    const Bytes before = file.substr(at + checksum_at, 4);
    std::fill_n(file.data() + at + checksum_at, 4, '\0');
    const bool right = wiredtiger_crc32c_func()(file.data() + at, whole ? bytes : checked_prefix) == checksum;
    std::copy(before.begin(), before.end(), file.data() + at + checksum_at);
    static_assert(headers <= unit);
    if (right) blocks.push_back({at, bytes, file[at + type_at] == row_leaf});
  }
  return blocks;
}

void flip_byte(const std::string& path, uint64_t offset) {
  const Bytes file = read_file(path);
  write_at(path, offset, Bytes(1, static_cast<char>(file.at(offset) ^ 0x21)));
}

void zero_bytes(const std::string& path, uint64_t offset, uint64_t bytes) {
  write_at(path, offset, Bytes(bytes, '\0'));
}

void swap_blocks(const std::string& path, const FileBlock& one, const FileBlock& other) {
  const Bytes file = read_file(path);
  const size_t bytes = std::min(one.bytes, other.bytes);
  const Bytes first = file.substr(one.offset, bytes), second = file.substr(other.offset, bytes);
  write_at(path, one.offset, second);
  write_at(path, other.offset, first);
}

}  // namespace storage::test
