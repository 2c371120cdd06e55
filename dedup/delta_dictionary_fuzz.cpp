// Any bytes are taken as a dictionary for packed deltas. It is refused, or packs and unpacks any delta, and a delta that was
// packed with another dictionary is refused or unpacked within the allowed length.
//
// The input is a delta (a part), a packed delta (a part), and the dictionary.
#include "base/fuzz_target.h"
#include "base/random.h"
#include "dedup/delta_dictionary.h"
#include "dedup/entropy.h"

namespace {

using namespace dedup;

constexpr size_t delta_bytes_max = 1 << 16;

bool run(BytesView input) {
  base::FuzzReader reader(input);
  const BytesView delta = reader.part(), packed = reader.part();
  EntropyCoder coder;
  if (coder.add_dictionary(1, reader.rest())) return false;
  if (const auto own = coder.pack(delta)) base::check(coder.unpack(*own, delta.size()).value() == delta);
  if (const auto unpacked = coder.unpack(packed, delta_bytes_max); unpacked.ok())
    base::check(unpacked.value().size() <= delta_bytes_max);
  return true;
}

Bytes trained(const std::string& before, const std::string& behind) {
  DictionaryTrainer trainer(1, {.dictionary_bytes = 512, .samples_wanted = 300});
  base::Random random(1);
  while (!trainer.ready()) trainer.see(before + std::to_string(random()) + behind);
  return trainer.train().value();
}

Bytes packed(BytesView delta, const Bytes& dictionary) {
  EntropyCoder coder;
  base::check(!coder.add_dictionary(1, dictionary));
  return coder.pack(delta).value();
}

std::vector<Bytes> seeds() {
  const Bytes dictionary = trained("some words, a number ", " and some words more"),
              other = trained("{_id: ", ", text: 'other things'}");
  const Bytes delta = "some words, a number 12 and some words more, some words, a number 5",
              object = "{_id: 1, text: 'other things'} {_id: 1, text: 'other things', b: 7}";
  const auto seed = [](BytesView one, BytesView two, BytesView three) {
    return base::FuzzWriter().part(one).part(two).rest(three);
  };
  return {seed(delta, packed(delta, dictionary), dictionary), seed(object, packed(object, other), other),
          seed(delta, packed(object, other), dictionary), seed({}, {}, dictionary)};
}

const base::FuzzTarget target("delta_dictionary", run, seeds);

}  // namespace
