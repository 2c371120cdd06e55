// The input is a directory's journal. Either one of its files is damaged, or none is; then none is either where nothing was
// written to the last one yet.
//
//   1 byte: whether the checksums of records are put right | parts: WiredTiger.turtle, the first file | rest: the second file
#include "storage/engine/journal_check.h"

#include <wiredtiger.h>

#include <filesystem>
#include <fstream>

#include "base/fuzz_target.h"
#include "storage/engine/engine_files.h"
#include "storage/testing/temporary_store.h"

namespace {

using namespace storage;
using base::Bytes;
using base::BytesView;
using base::check;

constexpr size_t checksum_at = 4, header = 16, alignment = 128;
constexpr char turtle_file[] = "/WiredTiger.turtle";

std::string file_name(int number) {
  return "WiredTigerLog.000000000" + std::to_string(number);
}

void write(const std::string& path, BytesView bytes) {
  std::filesystem::remove(path);  // some file systems sync a file that is written anew
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

const std::string& directory() {
  static const TemporaryDirectory made;
  static const std::string path = [] {
    std::filesystem::create_directories(made.path() + "/" + std::string(journal_directory));
    return made.path();
  }();
  return path;
}

void write_journal(int number, BytesView bytes) {
  write(directory() + "/" + std::string(journal_directory) + "/" + file_name(number), bytes);
}

void put_right(Bytes& file) {
  for (size_t at = 0; at + alignment <= file.size();) {
    const auto bytes = base::load_le<uint32_t>(file.data() + at);
    if (bytes < header || bytes > file.size() - at) return;
    base::store_le(file.data() + at + checksum_at, uint32_t{0});
    base::store_le(file.data() + at + checksum_at, wiredtiger_crc32c_func()(file.data() + at, bytes));
    at += (bytes + alignment - 1) / alignment * alignment;
  }
}

bool run(BytesView input) {
  if (input.empty()) return false;
  base::FuzzReader reader(input.substr(1));
  const BytesView turtle = reader.part();
  Bytes first(reader.part()), second(reader.rest());
  if (input[0] != 0) put_right(first), put_right(second);
  write(directory() + turtle_file, turtle);
  write_journal(1, first);
  write_journal(2, second);
  const std::string damage = journal_damage(directory());
  if (!damage.empty()) {
    check(damage.find(file_name(1)) != damage.npos || damage.find(file_name(2)) != damage.npos, "damage is in a file");
    return false;
  }
  write_journal(2, Bytes(4 * alignment, '\0'));
  check(journal_damage(directory()).empty(), "a file that isn't written yet is no damage");
  return true;
}

Bytes record(const Bytes& content) {
  Bytes out;
  base::append_le(out, static_cast<uint32_t>(header + content.size()));
  out.append(header - out.size(), '\0');
  out += content;
  out.resize((out.size() + alignment - 1) / alignment * alignment);
  return out;
}

std::vector<Bytes> seeds() {
  const Bytes some = record("the first record") + record(Bytes(300, 'r')), more = record(Bytes(112, 'm'));
  const auto seed = [](char right, BytesView turtle, BytesView one, BytesView two) {
    return Bytes(1, right) + base::FuzzWriter().part(turtle).part(one).rest(two);
  };
  Bytes sound = some;
  put_right(sound);
  const Bytes cut = sound + more.substr(0, header) + Bytes(600, '\0');
  return {seed(1, {}, some, more), seed(1, "checkpoint_lsn=(1,128)", some + Bytes(256, '\0'), more + more),
          seed(1, "checkpoint_lsn=(2,0)", "damaged before the checkpoint", more), seed(0, {}, sound, Bytes(512, '\0')),
          seed(0, {}, cut, {})};
}

const base::FuzzTarget target("journal_check", run, seeds);

}  // namespace
