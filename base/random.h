// Random numbers come from a seeded generator, for tests and made-up data, and from the machine's entropy, for
// secrets.
#pragma once

#include <cstdint>

namespace base {

// The generator is splitmix64: small, fast, with the same sequence from the same seed everywhere. It can be used with the
// standard distributions, and isn't thread-safe.
class Random {
 public:
  using result_type = uint64_t;
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t operator()() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  static constexpr uint64_t min() { return 0; }
  static constexpr uint64_t max() { return ~uint64_t{0}; }

  // Returns a number that is uniform in [0, bound); bound > 0.
  uint64_t below(uint64_t bound) { return static_cast<uint64_t>((static_cast<unsigned __int128>((*this)()) * bound) >> 64); }
  double unit() { return static_cast<double>((*this)() >> 11) * 0x1.0p-53; }

 private:
  uint64_t state_;
};

uint64_t entropy64();

}  // namespace base
