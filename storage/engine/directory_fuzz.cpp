// The input is the marker of a data directory, its copy, and a file with a master key. The directory is refused, or is opened
// again in the same way.
//
//   1 byte: whether encryption is enabled, and whether the marker is restored | parts: the marker, the copy | rest: the key file,
//   the right one if it is empty
#include "storage/engine/directory.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/fuzz_target.h"
#include "bson/json.h"
#include "storage/testing/temporary_store.h"

namespace {

using namespace storage;
using base::Bytes;
using base::BytesView;
using base::check;
using base::ErrorCode;

constexpr uint8_t enabled = 1, repair = 2;

Bytes master_key() {
  return Bytes(base::Cipher::key_bytes, 'm');
}

// wrap_data_key made it of 32 times 'd'. It makes another one each time.
constexpr char wrapped[] =
    "{\"cipher\": \"AES256-GCM\", \"key\": "
    "\"10aHNqFz1+xtK8DcfgMTCavTvrkzd64y5U30MtSBwKZiD90sHAd9nNoalSNjlw5lTA9WV6GwCZ/Daf9q\"}";

std::string marker(bool encrypted) {
  return encrypted ? "{\"format\": \"palimpsest\", \"version\": 4, \"encryption\": " + std::string(wrapped) + "}\n"
                   : "{\"format\": \"palimpsest\", \"version\": 3}\n";
}

void write(const std::string& path, BytesView bytes) {
  std::filesystem::remove(path);  // some file systems sync a file that is written anew
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

Bytes read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct Directory {
  TemporaryDirectory made, keys;
  const std::string path = made.path(), key_file = keys.path() + "/key";
};

Directory& directory() {
  static Directory one;
  return one;
}

// Returns whether the directory was refused, for one of the reasons that its users know.
template <class Work>
bool refused(Work&& work) {
  try {
    work();
    return false;
  } catch (const base::OperationError& error) {
    constexpr ErrorCode known[] = {ErrorCode::unsupported_format, ErrorCode::bad_value, ErrorCode::operation_failed};
    check(std::ranges::find(known, error.code()) != std::end(known), "a directory is refused for a known reason");
    return true;
  }
}

void check_key(const std::string& text) {
  Bytes key;
  if (refused([&] { key = unwrap_data_key(text, master_key()); })) return;
  check(key.size() == base::Cipher::key_bytes);
  const std::string again = "{\"encryption\": " + wrap_data_key(key, master_key()) + "}";
  check(unwrap_data_key(again, master_key()) == key, "a data key is unwrapped as it was wrapped");
}

bool run(BytesView input) {
  if (input.empty()) return false;
  const auto how = static_cast<uint8_t>(input[0]);
  base::FuzzReader reader(input.substr(1));
  const BytesView text = reader.part(), copy = reader.part(), key = reader.rest();
  check_key(std::string(text));

  const Directory& in = directory();
  write(in.path + "/" + directory_file, text);
  write(in.path + "/" + directory_copy_file, copy);
  write(in.key_file, key.empty() ? bson::base64_encode(master_key()) : key);
  ::chmod(in.key_file.c_str(), S_IRUSR | S_IWUSR);
  const EncryptionOptions encryption{.enabled = (how & enabled) != 0, .key_file = in.key_file, .new_key_file = {}};
  std::shared_ptr<const Encryption> one, other;
  if (refused([&] { one = prepare_directory(in.path, encryption, (how & repair) != 0); })) return false;
  check(read(in.path + "/" + directory_file) == read(in.path + "/" + directory_copy_file), "the marker is copied");
  check(!refused([&] { other = prepare_directory(in.path, encryption); }), "a directory is opened again");
  check((one != nullptr) == encryption.enabled && (other != nullptr) == encryption.enabled);
  if (one) check(other->files().open(one->files().seal("text")) == "text", "a directory has one key");
  return true;
}

std::vector<Bytes> seeds() {
  const auto seed = [](uint8_t how, BytesView text, BytesView copy, BytesView key = {}) {
    return Bytes(1, static_cast<char>(how)) + base::FuzzWriter().part(text).part(copy).rest(key);
  };
  return {seed(0, marker(false), marker(false)), seed(enabled, marker(true), {}), seed(repair, "damaged", marker(false)),
          seed(enabled | repair, marker(false), marker(true), bson::base64_encode(master_key()) + "\n")};
}

const base::FuzzTarget target("directory", run, seeds);

}  // namespace
