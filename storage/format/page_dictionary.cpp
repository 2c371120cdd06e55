#include "storage/format/page_dictionary.h"

#include <zdict.h>
#include <zstd.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/varint.h"

namespace storage {
namespace {

using base::ErrorCode;
using base::Failure;
using base::take_varint;

constexpr char magic[] = "PDIC";
constexpr char version = 1;
constexpr size_t dictionary_bytes_max = 1 << 20;
constexpr size_t samples_min = 32;
constexpr size_t number_at = 4;  // in a dictionary, the number follows the magic number
constexpr int file_level = 19;

Failure damaged(const std::string& what) {
  return {ErrorCode::data_corruption_detected, "the dictionaries are damaged: " + what};
}

}  // namespace

Bytes train_dictionary(const std::vector<Bytes>& samples, size_t bytes_max, uint32_t number) {
  base::check(number >= 1 && number <= dictionaries_max, "a dictionary without a number");
  if (samples.size() < samples_min) return {};
  Bytes together;
  std::vector<size_t> sizes;
  sizes.reserve(samples.size());
  for (const Bytes& sample : samples) {
    together += sample;
    sizes.push_back(sample.size());
  }
  Bytes dictionary(bytes_max, '\0');
  const size_t made = ZDICT_trainFromBuffer(dictionary.data(), dictionary.size(), together.data(), sizes.data(),
                                            static_cast<unsigned>(sizes.size()));
  if (ZDICT_isError(made) || made <= number_at + sizeof(uint32_t)) return {};
  dictionary.resize(made);
  for (size_t at = 0; at < sizeof(uint32_t); ++at) dictionary[number_at + at] = static_cast<char>(number >> (8 * at));
  return dictionary;
}

Bytes write_dictionaries(const std::vector<Bytes>& dictionaries) {
  Bytes file(magic, 4);
  file.push_back(version);
  base::append_varint(file, dictionaries.size());
  for (const Bytes& dictionary : dictionaries) {
    Bytes small(ZSTD_compressBound(dictionary.size()), '\0');
    const size_t bytes = ZSTD_compress(small.data(), small.size(), dictionary.data(), dictionary.size(), file_level);
    base::check(!ZSTD_isError(bytes), "a dictionary can't be compressed");
    base::append_varint(file, bytes);
    file.append(small, 0, bytes);
  }
  base::append_le(file, base::hash64(file));
  return file;
}

base::Result<std::vector<Bytes>> read_dictionaries(BytesView file) {
  if (file.size() < 5 + sizeof(uint64_t) || file.substr(0, 4) != BytesView(magic, 4))
    return damaged("not a file of dictionaries");
  const BytesView body = file.substr(0, file.size() - sizeof(uint64_t));
  if (base::load_le<uint64_t>(body.data() + body.size()) != base::hash64(body)) return damaged("the checksum does not hold");
  if (file[4] != version) {
    return base::Failure{base::ErrorCode::unsupported_format, "it has format version " +
                                                                  std::to_string(static_cast<uint8_t>(file[4])) +
                                                                  "; this program reads version " + std::to_string(version)};
  }
  BytesView rest = body.substr(5);
  const auto count = take_varint(rest);
  if (!count || *count > dictionaries_max) return damaged("cut short");
  std::vector<Bytes> dictionaries;
  for (uint64_t number = 1; number <= *count; ++number) {
    const auto bytes = take_varint(rest);
    if (!bytes || *bytes > rest.size()) return damaged("cut short");
    const unsigned long long length = ZSTD_getFrameContentSize(rest.data(), *bytes);
    if (length > dictionary_bytes_max) return damaged("a dictionary is too long");
    Bytes dictionary(length, '\0');
    const size_t made = ZSTD_decompress(dictionary.data(), dictionary.size(), rest.data(), *bytes);
    if (ZSTD_isError(made) || made != length || ZDICT_getDictID(dictionary.data(), dictionary.size()) != number)
      return damaged("a dictionary can't be read");
    dictionaries.push_back(std::move(dictionary));
    rest.remove_prefix(*bytes);
  }
  if (!rest.empty()) return damaged("bytes behind the last");
  return dictionaries;
}

}  // namespace storage
