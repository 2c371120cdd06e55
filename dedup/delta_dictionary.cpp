#include "dedup/delta_dictionary.h"

#include <zdict.h>

#include "dedup/entropy.h"

namespace dedup {

DictionaryTrainer::DictionaryTrainer(uint64_t seed, const DictionaryOptions& options) : options_(options), random_(seed) {}

void DictionaryTrainer::see(BytesView delta) {
  ++seen_;
  const BytesView sample = delta.substr(0, options_.sample_bytes_max);
  if (samples_.size() < options_.samples_wanted) {
    samples_.emplace_back(sample);
  } else {
    const uint64_t place = random_.below(seen_);
    if (place >= samples_.size()) return;
    bytes_ -= samples_[place].size();
    samples_[place] = sample;
  }
  bytes_ += sample.size();
}

std::optional<Bytes> DictionaryTrainer::train() const {
  Bytes together;
  std::vector<size_t> sizes;
  together.reserve(bytes_);
  for (const Bytes& sample : samples_) {
    together += sample;
    sizes.push_back(sample.size());
  }
  Bytes dictionary(options_.dictionary_bytes, '\0');
  const size_t bytes = ZDICT_trainFromBuffer(dictionary.data(), dictionary.size(), together.data(), sizes.data(),
                                             static_cast<unsigned>(sizes.size()));
  if (ZDICT_isError(bytes)) return std::nullopt;
  dictionary.resize(bytes);
  return dictionary;
}

size_t DictionaryTrainer::packed_bytes(const EntropyCoder& coder) const {
  size_t bytes = 0;
  for (const Bytes& sample : samples_) {
    const auto packed = coder.pack(sample);
    bytes += packed ? packed->size() : sample.size();
  }
  return bytes;
}

void DictionaryTrainer::clear() {
  samples_.clear();
  seen_ = 0;
  bytes_ = 0;
}

}  // namespace dedup
