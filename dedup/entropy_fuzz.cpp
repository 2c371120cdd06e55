// Input: a packed delta, with a dictionary there and without; and the same bytes as a
// delta, packed and brought back.
#include <cstdlib>

#include "dedup/delta_dictionary.h"
#include "dedup/entropy.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace dedup;
  static const EntropyCoder trained = [] {
    DictionaryTrainer trainer(1, {.dictionary_bytes = 2048, .samples_wanted = 300});
    base::Random random(1);
    while (!trainer.ready()) trainer.see("some words, a number " + std::to_string(random()) + " and some words more");
    EntropyCoder coder;
    if (coder.add_dictionary(1, trainer.train().value())) std::abort();
    return coder;
  }();
  static const EntropyCoder plain;
  const BytesView input(reinterpret_cast<const char*>(data), size);
  for (const EntropyCoder* coder : {&trained, &plain}) {
    const auto unpacked = coder->unpack(input, 1 << 16);
    if (unpacked.ok() && unpacked.value().size() > 1 << 16) std::abort();
    const auto packed = coder->pack(input);
    if (packed && (packed->size() >= size || coder->unpack(*packed, size).value() != input)) std::abort();
  }
  return 0;
}
