// The input is a packed delta, unpacked with a dictionary and without one: it is refused, or its content is within the allowed
// length. The same bytes are a delta, too, which is packed and unpacked.
#include "base/fuzz_target.h"
#include "dedup/delta_dictionary.h"
#include "dedup/entropy.h"

namespace {

using namespace dedup;

constexpr size_t delta_bytes_max = 1 << 16;

const EntropyCoder& trained() {
  static const EntropyCoder coder = [] {
    DictionaryTrainer trainer(1, {.dictionary_bytes = 2048, .samples_wanted = 300});
    base::Random random(1);
    while (!trainer.ready()) trainer.see("some words, a number " + std::to_string(random()) + " and some words more");
    EntropyCoder made;
    base::check(!made.add_dictionary(1, trainer.train().value()));
    return made;
  }();
  return coder;
}

const EntropyCoder& plain() {
  static const EntropyCoder coder;
  return coder;
}

bool run(BytesView input) {
  bool accepted = false;
  for (const EntropyCoder* coder : {&trained(), &plain()}) {
    const auto unpacked = coder->unpack(input, delta_bytes_max);
    base::check(!unpacked.ok() || unpacked.value().size() <= delta_bytes_max);
    accepted = accepted || unpacked.ok();
    const auto packed = coder->pack(input);
    if (packed) base::check(packed->size() < input.size() && coder->unpack(*packed, input.size()).value() == input);
  }
  return accepted;
}

std::vector<Bytes> seeds() {
  const Bytes delta = "some words, a number 1 and some words more, some words, a number 2 and some words more";
  return {trained().pack(delta).value(), plain().pack(delta).value()};
}

const base::FuzzTarget target("entropy", run, seeds);

}  // namespace
