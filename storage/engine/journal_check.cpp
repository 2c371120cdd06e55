#include "storage/engine/journal_check.h"

#include <wiredtiger.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "base/bytes.h"
#include "storage/engine/engine_files.h"

namespace storage {
namespace {

namespace fs = std::filesystem;
using base::Bytes;
using base::BytesView;

// | record's bytes, 4 | checksum, 4 | flags, 2 | 0, 2 | bytes in memory, 4 | content |
constexpr size_t checksum_at = 4, header = 16, alignment = 128, sector = 512, cut_min = 64;
constexpr uint32_t record_max = 1u << 30;
constexpr uint64_t first_record_max = 1024;  // the first record of a change begins before this place
constexpr std::string_view file_prefix = "WiredTigerLog.";

std::map<uint32_t, fs::path> journal_files(const std::string& directory) {
  std::map<uint32_t, fs::path> files;
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(fs::path(directory) / journal_directory, missing)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with(file_prefix)) continue;
    uint32_t number = 0;
    std::from_chars(name.data() + file_prefix.size(), name.data() + name.size(), number);
    files[number] = entry.path();
  }
  return files;
}

bool zeros(BytesView bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](char c) { return c == '\0'; });
}

bool whole(BytesView record) {
  Bytes copy(record);
  base::store_le(copy.data() + checksum_at, uint32_t{0});
  return wiredtiger_crc32c_func()(copy.data(), copy.size()) == base::load_le<uint32_t>(record.data() + checksum_at);
}

// Returns whether a part of the record may never have been written: its end, or a sector. Records begin and end at multiples of
// 128 bytes, and a write is cut between sectors, so an end that was not written is long. A single zero says nothing: WiredTiger
// fills a record up with zeros and a last byte that isn't zero, but one that lacks at most one byte ends with its own data, or
// with one zero.
bool half_written(BytesView record, uint64_t offset) {
  if (zeros(record.substr(record.size() - std::min(record.size(), cut_min)))) return true;
  while (!record.empty()) {
    const size_t part = std::min(record.size(), sector - offset % sector);
    if (zeros(record.substr(0, part))) return true;
    record.remove_prefix(part);
    offset += part;
  }
  return false;
}

// Returns whether whole records begin within this one: then its length is damaged.
bool holds_records(BytesView record) {
  for (size_t at = alignment; at + alignment <= record.size(); at += alignment) {
    const auto bytes = base::load_le<uint32_t>(record.data() + at);
    if (bytes >= header && bytes <= record.size() - at && whole(record.substr(at, bytes))) return true;
  }
  return false;
}

struct Place {
  uint32_t file = 0;  // 0: there was no checkpoint yet, or it was taken without a journal
  uint32_t offset = 0;
};

// Returns where the replay begins.
Place last_checkpoint(const std::string& directory) {
  constexpr std::string_view before = "checkpoint_lsn=(";
  std::ifstream in(directory + "/WiredTiger.turtle", std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const size_t at = text.find(before);
  if (at == text.npos) return {};
  Place place;
  const char* const end = text.data() + text.size();
  const char* const comma = std::from_chars(text.data() + at + before.size(), end, place.file).ptr;
  if (comma == end || *comma != ',' || place.file == UINT32_MAX) return {};
  std::from_chars(comma + 1, end, place.offset);
  return place;
}

enum class End { journals, files, damage };

// Reads the records of one file, and leaves `offset` at the last one.
End read_records(const fs::path& path, uint64_t& offset) {
  std::ifstream in(path, std::ios::binary);
  const uint64_t size = fs::file_size(path);
  Bytes record;
  for (;;) {
    if (offset + alignment > size) return End::files;
    record.resize(alignment);
    in.seekg(static_cast<std::streamoff>(offset));
    if (!in.read(record.data(), alignment)) return End::journals;
    const auto bytes = base::load_le<uint32_t>(record.data());
    // The rest of a file that is full is zeros, as are records that were never written.
    if (bytes == 0) return zeros(BytesView(record).substr(0, header)) ? End::files : End::damage;
    if (bytes < header || bytes > record_max) return End::damage;
    // Only a record that is larger than files are makes its file grow, and it is the file's first. A crash may come in the midst.
    if (bytes > size - offset) return offset <= first_record_max ? End::journals : End::damage;
    record.resize(bytes);
    in.seekg(static_cast<std::streamoff>(offset));
    if (!in.read(record.data(), static_cast<std::streamsize>(bytes))) return End::journals;
    if (!whole(record)) return half_written(record, offset) && !holds_records(record) ? End::journals : End::damage;
    offset += (bytes + alignment - 1) / alignment * alignment;
  }
}

}  // namespace

std::string journal_damage(const std::string& directory) {
  const auto from = last_checkpoint(directory);
  const auto files = journal_files(directory);
  if (from.file != 0 && files.empty())
    return "the journal's files are missing, so what was written after the last checkpoint can't be recovered";
  uint64_t offset = from.offset;
  uint32_t before = 0;
  for (const auto& [number, path] : files) {
    if (number < from.file) continue;
    if (before == 0 && number != from.file) offset = 0;
    if (before != 0 && number != before + 1) break;
    switch (read_records(path, offset)) {
      case End::damage:
        return "the journal's file " + path.filename().string() + " is damaged at offset " + std::to_string(offset) +
               ", so what was written after that can't be recovered";
      case End::journals: return {};
      case End::files: break;
    }
    before = number;
    offset = 0;
  }
  return {};
}

}  // namespace storage
