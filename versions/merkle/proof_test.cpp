#include "versions/merkle/proof.h"

#include "versions/merkle/test_support.h"

using namespace versions::merkle;
using namespace versions::merkle::test;

namespace {

Example example_of(const Named& named) {
  return Example(named, 21, 10'000, 800);
}

std::optional<Bytes> truth(const Example& example, BytesView key) {
  const auto found = example.contents.find(Bytes(key));
  return found == example.contents.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace

TEST_CASE("every key has a proof that it is there, or isn't") {
  for (const Named& named : all_indexes) {
    INFO(named.name);
    Example example = example_of(named);
    base::Random random(22);
    for (int i = 0; i < 400; ++i) {
      const Bytes key =
          i % 2 == 0 ? random_key(random, 10'000)
                     : std::next(example.contents.begin(), static_cast<ptrdiff_t>(random.below(example.contents.size())))->first;
      CHECK(verify(example.root, key, example.index->prove(example.nodes, example.root, key)).or_throw() == truth(example, key));
    }
    for (const Bytes& key : {Bytes(), Bytes("~behind all"), Bytes(1, '\0')}) {
      CHECK(verify(example.root, key, example.index->prove(example.nodes, example.root, key)).or_throw() == truth(example, key));
    }
  }
}

TEST_CASE("nothing is proven to be absent from what is empty") {
  for (const Named& named : all_indexes) {
    INFO(named.name);
    const auto index = make_index(named.options);
    MemoryNodes nodes;
    const Hash root = index->empty(nodes);
    CHECK(verify(root, "a", index->prove(nodes, root, "a")).or_throw() == std::nullopt);
  }
}

TEST_CASE("a bit flipped anywhere in a proof is found, and so is a byte too few or too many") {
  for (const Named& named : all_indexes) {
    INFO(named.name);
    Example example = example_of(named);
    base::Random random(23);
    for (int i = 0; i < 2; ++i) {
      const Bytes key = random_key(random, 10'000);
      Bytes proof = example.index->prove(example.nodes, example.root, key);
      size_t accepted = 0;
      const size_t stride = proof.size() > 1500 ? 5 : 1;
      for (size_t bit = 0; bit < proof.size() * 8; bit += stride) {
        proof[bit / 8] ^= static_cast<char>(1 << bit % 8);
        accepted += verify(example.root, key, proof).ok();
        proof[bit / 8] ^= static_cast<char>(1 << bit % 8);
      }
      for (size_t length = 0; length < proof.size(); length += stride)
        accepted += verify(example.root, key, BytesView(proof).substr(0, length)).ok();
      for (const BytesView more : {BytesView("\0", 1), BytesView("\1a", 2), BytesView("\2\1\0\0", 4)})
        accepted += verify(example.root, key, proof + Bytes(more)).ok();
      CHECK(accepted == 0);
      Hash other = example.root;
      other[random.below(32)] ^= 1;
      CHECK_FALSE(verify(other, key, proof).ok());
    }
  }
}

TEST_CASE("a proof for one key says nothing false about another") {
  for (const Named& named : all_indexes) {
    INFO(named.name);
    Example example = example_of(named);
    base::Random random(24);
    for (int i = 0; i < 300; ++i) {
      const Bytes key = random_key(random, 10'000), other = random_key(random, 10'000);
      const auto answer = verify(example.root, other, example.index->prove(example.nodes, example.root, key));
      if (answer.ok()) CHECK(answer.value() == truth(example, other));
    }
  }
}

TEST_CASE("a step of another tree does not fit") {
  for (const Named& named : all_indexes) {
    INFO(named.name);
    Example example = example_of(named);
    const Bytes key = example.contents.begin()->first;
    const Hash changed = example.index->put(example.nodes, example.root, key, "forged");
    const Bytes proof = example.index->prove(example.nodes, changed, key);
    CHECK(verify(changed, key, proof).or_throw() == "forged");
    CHECK_FALSE(verify(example.root, key, proof).ok());
  }
}

TEST_CASE("bytes that somebody made up are refused, not followed") {
  base::Random random(25);
  size_t accepted = 0;
  for (const Named& named : all_indexes) {
    Example example = example_of(named);
    for (int i = 0; i < 2000; ++i) {
      const Bytes key = random_key(random, 10'000);
      Bytes proof = example.index->prove(example.nodes, example.root, key);
      for (uint64_t edits = 1 + random.below(5); edits > 0; --edits) {
        switch (random.below(4)) {
          case 0: proof[random.below(proof.size())] = static_cast<char>(random()); break;
          case 1: proof.erase(random.below(proof.size()), 1 + random.below(40)); break;
          case 2: proof.insert(random.below(proof.size()), random_value(random)); break;
          default: proof.insert(random.below(proof.size()), Bytes(1 + random.below(10), static_cast<char>(0xff))); break;
        }
        if (proof.empty()) proof = "PMP";
      }
      const auto answer = verify(example.root, key, proof);
      if (answer.ok()) CHECK(answer.value() == truth(example, key));
      // The root fits the first step, so that the step's bytes are followed.
      const BytesView rest = BytesView(proof).substr(std::min<size_t>(proof.size(), 5));
      for (const size_t length : {size_t{34}, size_t{100}, rest.size()})
        accepted += verify(sha256(rest.substr(0, length)), key, proof).ok();
    }
  }
  INFO(accepted);
  SUCCEED();
}
