// The programs that check proofs need nothing of this tree; they must answer as the library does.
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "storage/testing/temporary_store.h"
#include "versions/merkle/proof.h"
#include "versions/merkle/test_support.h"

using namespace versions::merkle;
using namespace versions::merkle::test;

namespace {

std::vector<std::string> lines_of(const std::string& command) {
  std::vector<std::string> lines(1);
  FILE* out = popen(command.c_str(), "r");
  REQUIRE(out != nullptr);
  for (int c = std::fgetc(out); c != EOF; c = std::fgetc(out)) {
    if (c == '\n')
      lines.emplace_back();
    else
      lines.back().push_back(static_cast<char>(c));
  }
  CHECK(pclose(out) == 0);
  lines.pop_back();
  return lines;
}

std::string field(BytesView bytes) {
  return bytes.empty() ? "-" : base::to_hex(bytes);
}

}  // namespace

TEST_CASE("the verifiers that stand alone say of every proof what the library says") {
  const storage::TemporaryDirectory directory;
  const std::string path = directory.path() + "/proofs";
  std::vector<std::string> expected;
  size_t holding = 0;
  {
    std::ofstream file(path);
    base::Random random(41);
    const auto ask = [&](const Hash& root, BytesView key, BytesView proof) {
      file << field(view(root)) << ' ' << field(key) << ' ' << field(proof) << '\n';
      const auto answer = verify(root, key, proof);
      if (!answer.ok())
        expected.emplace_back("The proof does not hold");
      else
        expected.push_back(answer.value() ? "present " + base::to_hex(*answer.value()) : "absent");
      holding += answer.ok();
    };
    for (const Named& named : all_indexes) {
      const auto index = make_index(named.options);
      MemoryNodes nodes;
      Contents contents;
      while (contents.size() < 300) contents[random_key(random, 3000)] = random_value(random);
      const Hash root = index->build(nodes, as_changes(contents)), empty = index->empty(nodes);
      ask(empty, "a", index->prove(nodes, empty, "a"));
      for (int i = 0; i < 60; ++i) {
        const Bytes key = i % 2 == 0 ? random_key(random, 3000)
                                     : std::next(contents.begin(), static_cast<ptrdiff_t>(random.below(contents.size())))->first;
        const Bytes proof = index->prove(nodes, root, key);
        ask(root, key, proof);
        ask(root, random_key(random, 3000), proof);
        Bytes damaged = proof;
        damaged[random.below(damaged.size())] ^= static_cast<char>(1 << random.below(8));
        ask(root, key, damaged);
        ask(root, key, proof.substr(0, random.below(proof.size())));
        ask(root, key, proof + "\1");
        // The root is made for these bytes, so that they are followed.
        Bytes forged = random_value(random);
        forged.insert(0, 1, static_cast<char>(random.below(8)));
        ask(sha256(forged), key,
            Bytes("PMP\1", 4) + Bytes(1, static_cast<char>(forged.size())).substr(0, forged.size() < 128 ? 1 : 0) + forged +
                Bytes(1, '\0'));
        if (i % 10 == 0) ask(root, key, {});
      }
    }
  }
  CHECK(holding > 500);
  CHECK(holding < expected.size());
  for (const std::string verifier : {VERIFIERS}) {
    INFO(verifier);
    const std::vector<std::string> answers = lines_of(verifier + " --many " + path);
    REQUIRE(answers.size() == expected.size());
    size_t different = 0;
    for (size_t i = 0; i < answers.size(); ++i)
      different += !answers[i].starts_with(expected[i]) || (expected[i] == "absent" && answers[i] != expected[i]);
    CHECK(different == 0);
  }
}

TEST_CASE("a verifier that has no proof to check says neither that it holds nor that it doesn't") {
  for (const std::string verifier : {VERIFIERS}) {
    for (const std::string arguments : {"00 00 /nobody/has/this", "--many /nobody/has/this", "00"}) {
      INFO(verifier + " " + arguments);
      const int status = std::system((verifier + " " + arguments + " 2>/dev/null").c_str());
      CHECK(WIFEXITED(status));
      CHECK(WEXITSTATUS(status) == 2);
    }
  }
}
