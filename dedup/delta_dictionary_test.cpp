#include "dedup/delta_dictionary.h"

#include <catch2/catch.hpp>

#include "base/varint.h"
#include "dedup/entropy.h"
#include "dedup/test_support.h"

using namespace dedup;
using namespace dedup::test;

TEST_CASE("a sample stands for all that was seen, in bounded memory") {
  const DictionaryOptions options{.samples_wanted = 200, .sample_bytes_max = 8};
  DictionaryTrainer trainer(1, options);
  for (uint32_t i = 0; i < 20'000; ++i) {
    CHECK(trainer.ready() == (i >= 200));
    Bytes numbered(100, 'x');
    base::store_le(numbered.data(), i);
    trainer.see(numbered);
  }
  CHECK(trainer.seen() == 20'000);
  CHECK(trainer.samples() == 200);
  CHECK(trainer.memory_bytes() == 200 * 8);
}

TEST_CASE("the sample is drawn evenly") {
  // Over many trainers, the mean of what is kept is the mean of what was seen.
  double sum = 0;
  size_t count = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    DictionaryTrainer trainer(seed, {.samples_wanted = 10, .sample_bytes_max = 1000});
    for (size_t i = 0; i < 1000; ++i) trainer.see(Bytes(i, 'x'));
    sum += static_cast<double>(trainer.memory_bytes());
    count += trainer.samples();
  }
  CHECK(sum / static_cast<double>(count) == Approx(499.5).margin(25));
}

TEST_CASE("training takes the same sample to the same dictionary, and says when there is too little") {
  const auto train = [](int samples) {
    DictionaryTrainer trainer(3, {.dictionary_bytes = 2048, .samples_wanted = 500});
    base::Random random(4);
    for (int i = 0; i < samples; ++i)
      trainer.see("{\"name\":\"" + prose(random, 10) + "\",\"age\":" + std::to_string(i) + ",\"city\":\"" + prose(random, 5) +
                  "\"}");
    return trainer.train();
  };
  CHECK_FALSE(train(0));
  CHECK_FALSE(train(2));
  REQUIRE(train(500));
  CHECK(train(500) == train(500));
  CHECK(train(500)->size() <= 2048);
}

TEST_CASE("a trainer tells whether a dictionary is good for what it saw, and starts anew") {
  DictionaryTrainer trainer(5, {.dictionary_bytes = 2048, .samples_wanted = 500});
  base::Random random(6);
  for (int i = 0; i < 500; ++i) trainer.see("{\"name\":\"" + prose(random, 10) + "\",\"score\":" + std::to_string(i) + "}");
  EntropyCoder plain, trained;
  REQUIRE_FALSE(trained.add_dictionary(1, trainer.train().value()));
  CHECK(trainer.packed_bytes(trained) < trainer.packed_bytes(plain));
  CHECK(trainer.packed_bytes(plain) <= trainer.memory_bytes());
  trainer.clear();
  CHECK(trainer.samples() == 0);
  CHECK(trainer.memory_bytes() == 0);
  CHECK(trainer.packed_bytes(trained) == 0);
}
