#include "dedup/delta_chain.h"

#include <rapidcheck.h>
#include <catch2/catch.hpp>

#include "dedup/delta.h"
#include "dedup/test_support.h"

using namespace dedup;
using namespace dedup::test;

namespace {

struct Chain {
  std::vector<Bytes> contents;  // the last one is whole
  std::vector<Bytes> deltas;
  std::vector<DeltaLink> links;

  void link() {
    for (size_t i = 0; i + 1 < contents.size(); ++i) deltas.push_back(*encode(contents[i + 1], contents[i]));
    for (size_t i = 0; i < deltas.size(); ++i) links.push_back({deltas[i], contents[i].size()});
  }
  std::vector<DeltaLink> from(size_t first) const { return {links.begin() + static_cast<ptrdiff_t>(first), links.end()}; }
};

// Makes pairs with a few edits, with edits all over, with nothing in common, and empty ones.
Chain random_chain(base::Random& random, size_t count) {
  Chain chain;
  Bytes text = prose(random, random.below(5000));
  for (size_t i = 0; i < count; ++i) {
    switch (random.below(10)) {
      case 0: text = prose(random, random.below(3000)); break;
      case 1: text.clear(); break;
      case 2:
        for (size_t at = 0; at < text.size(); at += 40) text[at] = static_cast<char>('0' + random.below(10));
        break;
      default: text = edited(random, text, random.below(4));
    }
    chain.contents.push_back(text);
  }
  chain.link();
  return chain;
}

}  // namespace

TEST_CASE("deltas applied together make what they make one after the other") {
  CHECK(rc::check([](uint64_t seed) {
    base::Random random(seed);
    const Chain chain = random_chain(random, 1 + random.below(random.below(2) ? 40 : 8));
    Bytes again;
    for (size_t i = 0; i < chain.contents.size(); ++i) {
      const auto made = apply_chain(chain.contents.back(), chain.from(i));
      RC_ASSERT(made.ok());
      RC_ASSERT(made.value() == chain.contents[i]);
      RC_ASSERT(!apply_chain_to(again, chain.contents.back(), chain.from(i)));
      RC_ASSERT(again == chain.contents[i]);
    }
  }));
}

TEST_CASE("a damaged delta in a run is refused or makes something of the same length") {
  CHECK(rc::check([](uint64_t seed) {
    base::Random random(seed);
    Chain chain = random_chain(random, 2 + random.below(20));
    Bytes& victim = chain.deltas[random.below(chain.deltas.size())];
    victim[random.below(victim.size())] ^= static_cast<char>(1 << random.below(8));
    const auto made = apply_chain(chain.contents.back(), chain.links);
    if (made.ok()) RC_ASSERT(made.value().size() == chain.contents[0].size());
  }));
}

TEST_CASE("small edits cost no content in between, and what is made is bounded") {
  base::Random random(1);
  Chain chain;
  Bytes text = prose(random, 60'000);
  for (int i = 0; i < 40; ++i) chain.contents.push_back(text = edited(random, text, 1));
  chain.link();
  ChainBudget budget{.made_bytes_max = 0};
  CHECK(apply_chain(chain.contents.back(), chain.links, &budget).value() == chain.contents[0]);

  Chain broken;
  for (int i = 0; i < 10; ++i) {
    for (size_t at = random.below(40); at < text.size(); at += 40) text[at] = static_cast<char>('0' + random.below(10));
    broken.contents.push_back(text);
  }
  broken.link();
  CHECK(apply_chain(broken.contents.back(), broken.links).value() == broken.contents[0]);
  CHECK_FALSE(apply_chain(broken.contents.back(), broken.links, &budget).ok());
  CHECK(budget.exceeded);
}
