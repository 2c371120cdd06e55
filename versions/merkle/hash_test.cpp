#include "versions/merkle/hash.h"

#include <catch2/catch.hpp>
#include <vector>

#include "base/random.h"

using namespace versions::merkle;

TEST_CASE("SHA-256 of the standard's example") {
  CHECK(base::to_hex(view(sha256("abc"))) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST_CASE("messages hashed side by side have the hashes they have alone") {
  base::Random random(3);
  for (size_t count = 0; count < 70; ++count) {
    std::vector<Bytes> texts;
    for (size_t i = 0; i < count; ++i) {
      // Covers all lengths around the ends of blocks, and now and then a long one.
      Bytes text(random.below(20) == 0 ? random.below(5000) : random.below(200), '\0');
      for (char& c : text) c = static_cast<char>(random());
      texts.push_back(std::move(text));
    }
    // Covers all lanes that the processor has, not just those it would choose.
    for (const size_t lanes : {0, 1, 8, 16}) {
      INFO(lanes);
      std::vector<Hash> hashes(count);
      std::vector<Message> messages;
      for (size_t i = 0; i < count; ++i) messages.push_back({texts[i], &hashes[i]});
      lanes == 0 ? sha256_many(messages) : sha256_many(messages, lanes);
      for (size_t i = 0; i < count; ++i) CHECK(hashes[i] == sha256(texts[i]));
    }
  }
}
