// Sketches are the same on every machine: members of a replica set may run on machines of several kinds, and data directories
// move between them.
//
// A change that means to change sketches puts in the new numbers, which the failed test prints, on any
// machine.
#include <catch2/catch.hpp>

#include "dedup/sketch.h"
#include "dedup/test_support.h"

using namespace dedup;
using namespace dedup::test;

namespace {

// Each statement draws one random number: compilers differ in the order of evaluating arguments.
Bytes edited_in_order(base::Random& random, Bytes text, uint64_t edits) {
  for (; edits > 0; --edits) {
    const size_t at = random.below(text.size() + 1);
    switch (random.below(4)) {
      case 0: {
        const size_t come = random.below(80);
        text.insert(at, prose(random, come));
        break;
      }
      case 1: text.erase(at, random.below(80)); break;
      case 2: {
        const size_t gone = random.below(40), come = random.below(40);
        text.replace(at, gone, prose(random, come));
        break;
      }
      case 3: {
        const Bytes block = text.substr(at, random.below(500));
        text.erase(at, block.size());
        text.insert(random.below(text.size() + 1), block);
      }
    }
  }
  return text;
}

std::vector<Bytes> contents() {
  base::Random random(20);
  std::vector<Bytes> all;
  const auto pair = [&](const Bytes& one, const Bytes& other) { all.push_back(one), all.push_back(other); };
  for (const size_t bytes : {0, 1, 15, 16, 17, 300, 527, 2000, 16'000}) {
    const Bytes text = prose(random, bytes);
    pair(text, edited_in_order(random, text, 1 + bytes / 1000));
    const Bytes alike = random_bytes(random, bytes, 2);
    pair(alike, edited_in_order(random, alike, 1 + bytes / 500));
    pair(text, prose(random, bytes));
    pair(random_bytes(random, bytes), text);
  }
  return all;
}

// The hash goes over all features one after the other.
uint64_t digest(SketchMethod method, const WindowKernel& kernel) {
  Options options;
  options.sketch_method = method;
  const Sketcher sketcher(options, 77, kernel);
  uint64_t value = 0;
  for (const Bytes& content : contents())
    for (const uint64_t feature : sketcher.sketch(3, content)) {
      const uint64_t parts[] = {value, sizeof feature,
                                base::hash64({reinterpret_cast<const char*>(&feature), sizeof feature}, 1)};
      value = base::hash64({reinterpret_cast<const char*>(parts), sizeof parts}, 2);
    }
  return value;
}

}  // namespace

TEST_CASE("sketches are the same on every machine") {
  for (const WindowKernel& kernel : window_kernels()) CHECK(digest(SketchMethod::windows, kernel) == 0x086900749fe33d21u);
  CHECK(digest(SketchMethod::gear_chunks, window_kernels().front()) == 0x7e0126d7835fc2a1u);
  CHECK(digest(SketchMethod::rabin_chunks, window_kernels().front()) == 0xe6e05bbc5538e846u);
}
