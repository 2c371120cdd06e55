// The input is a copy of WiredTiger's metadata, which lacks its file. The copy is of no use, or the file is there afterwards, and
// is restored from a copy of itself as well.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>

#include "base/fuzz_target.h"
#include "storage/engine/metadata_copy.h"
#include "storage/testing/temporary_store.h"

namespace {

using namespace storage;
using base::Bytes;
using base::BytesView;

constexpr char turtle[] = "file:WiredTiger.wt\ncheckpoint=(1=(addr=\"018181e4\"))";

void write(const std::string& path, BytesView bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

Bytes read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct Directory {
  TemporaryDirectory made;
  const std::string metadata = made.path() + "/WiredTiger.wt", copy = made.path() + "/" + metadata_copy_file;

  Directory() { write(made.path() + "/WiredTiger.turtle", turtle); }
};

Directory& directory() {
  static Directory one;
  return one;
}

bool run(BytesView input) {
  Directory& in = directory();
  std::filesystem::remove(in.metadata);
  write(in.copy, input);
  const auto restore = [&] { MetadataCopy(in.made.path()).restore([&] { return std::filesystem::exists(in.metadata); }); };
  restore();
  if (!std::filesystem::exists(in.metadata)) return false;
  const Bytes restored = read(in.metadata);
  MetadataCopy(in.made.path()).take();
  std::filesystem::remove(in.metadata);
  restore();
  base::check(read(in.metadata) == restored);
  return true;
}

std::vector<Bytes> seeds() {
  Directory& in = directory();
  std::vector<Bytes> copies;
  for (const size_t bytes : {1, 3 * 4096 + 5}) {
    std::filesystem::remove(in.copy);
    write(in.metadata, Bytes(bytes, 'm'));
    MetadataCopy(in.made.path()).take();
    copies.push_back(read(in.copy));
  }
  return copies;
}

const base::FuzzTarget target("metadata_copy", run, seeds);

}  // namespace
