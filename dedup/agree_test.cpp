#include "dedup/agree.h"

#include <rapidcheck.h>
#include <catch2/catch.hpp>

#include <memory>

#include "base/random.h"

using namespace dedup;

namespace {

// The buffer is exactly as long as it says, so that a sanitizer sees each byte read too far.
struct Exact {
  explicit Exact(const base::Bytes& bytes) : size(bytes.size()), data(new char[bytes.size()]) { bytes.copy(data.get(), size); }
  size_t size;
  std::unique_ptr<char[]> data;
};

base::Bytes few_letters(base::Random& random, size_t bytes) {
  base::Bytes out(bytes, 'a');
  for (uint64_t others = random.below(3); others > 0 && bytes > 0; --others) out[random.below(bytes)] = 'b';
  return out;
}

}  // namespace

TEST_CASE("every width of vectors gives the portable answers") {
  const auto kernels = agree_kernels();
  REQUIRE(kernels.front().name == std::string("portable"));
  CHECK(agree_fastest.forward == kernels.back().forward);
  CHECK(rc::check([&](uint64_t seed) {
    base::Random random(seed);
    const size_t bytes = random.below(400);
    const Exact a(few_letters(random, bytes)), b(few_letters(random, bytes));
    size_t forward = 0, backward = 0;
    while (forward < bytes && a.data[forward] == b.data[forward]) ++forward;
    while (backward < bytes && a.data[bytes - 1 - backward] == b.data[bytes - 1 - backward]) ++backward;
    for (const AgreeKernels& kernel : kernels) {
      RC_ASSERT(kernel.forward(a.data.get(), b.data.get(), bytes) == forward);
      RC_ASSERT(kernel.backward(a.data.get() + bytes, b.data.get() + bytes, bytes) == backward);
    }
    RC_ASSERT(agree_forward(a.data.get(), b.data.get(), bytes) == forward);
    RC_ASSERT(agree_backward(a.data.get() + bytes, b.data.get() + bytes, bytes) == backward);
  }));
}

TEST_CASE("every width finds the same bytes to be equal") {
  CHECK(rc::check([](uint64_t seed) {
    base::Random random(seed);
    const Exact a(few_letters(random, equal_bytes)), b(few_letters(random, equal_bytes));
    uint32_t same = 0;
    for (size_t i = 0; i < equal_bytes; ++i) same |= uint32_t{a.data[i] == b.data[i]} << i;
    for (const AgreeKernels& kernel : agree_kernels()) RC_ASSERT(kernel.equal(a.data.get(), b.data.get()) == same);
  }));
}

TEST_CASE("a key is found where it stands first, by every width") {
  CHECK(rc::check([](uint64_t seed) {
    base::Random random(seed);
    base::Bytes text(key_bytes + random.below(400), ' ');
    for (char& c : text) c = static_cast<char>('a' + random.below(3));
    base::Bytes key = text.substr(random.below(text.size() - key_bytes + 1), key_bytes);
    if (random.below(3) == 0) key[random.below(key_bytes)] = 'x';
    const size_t places = random.below(text.size() - key_bytes + 2);
    size_t expected = text.find(key);
    if (expected > places) expected = places;
    const Exact exact(text.substr(0, places + key_bytes - 1));
    for (const AgreeKernels& kernel : agree_kernels())
      RC_ASSERT(kernel.find_key(exact.data.get(), places, base::load_le<uint64_t>(key.data())) == expected);
  }));
}

TEST_CASE("several keys are found where each stands first, by every width") {
  CHECK(rc::check([](uint64_t seed) {
    base::Random random(seed);
    base::Bytes text(key_bytes + random.below(400), ' ');
    for (char& c : text) c = static_cast<char>('a' + random.below(2));
    const size_t places = random.below(text.size() - key_bytes + 2);
    Keys keys;
    for (uint64_t& key : keys) {
      base::Bytes bytes = text.substr(random.below(text.size() - key_bytes + 1), key_bytes);
      if (random.below(4) == 0) bytes[random.below(key_bytes)] = 'x';
      key = base::load_le<uint64_t>(bytes.data());
    }
    const Exact exact(text.substr(0, places + key_bytes - 1));
    for (const AgreeKernels& kernel : agree_kernels()) {
      KeyPlaces found;
      kernel.find_keys(exact.data.get(), places, keys, found);
      for (size_t key = 0; key < keys.size(); ++key) {
        std::vector<uint16_t> expected;
        for (size_t at = 0; at < places && expected.size() < KeyPlaces::places_max; ++at)
          if (base::load_le<uint64_t>(text.data() + at) == keys[key]) expected.push_back(static_cast<uint16_t>(at));
        RC_ASSERT(std::vector<uint16_t>(found.of(key).begin(), found.of(key).end()) == expected);
      }
    }
  }));
}
