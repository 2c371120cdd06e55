// These helpers make contents for the tests of this folder, and check what became of them.
#pragma once

#include <catch2/catch.hpp>
#include <string>

#include "base/random.h"
#include "bson/builder.h"
#include "storage/contents/chain_check.h"
#include "storage/contents/record_store_state.h"
#include "storage/engine/engine.h"
#include "storage/testing/temporary_store.h"

namespace storage::test {

// This function returns words of random letters: `bytes` bytes or a few more.
inline std::string words(base::Random& random, size_t bytes) {
  std::string out;
  while (out.size() < bytes) {
    for (uint64_t letters = 2 + random.below(9); letters > 0; --letters) out.push_back(static_cast<char>('a' + random.below(26)));
    out.push_back(' ');
  }
  return out;
}

inline std::string edited(base::Random& random, std::string text) {
  text.replace(random.below(text.size()), random.below(30), words(random, 20));
  return text;
}

inline bson::Document document(int64_t id, const std::string& text) {
  bson::Builder builder;
  builder.append("_id", id).append("text", text);
  return builder.done();
}

// This function requires that every chain of the collection is correct, including the checksums.
inline void require_clean(Engine& engine, Collection& collection) {
  Transaction transaction(engine, Transaction::Mode::read);
  const ChainReport report = check_chains(collection.records().state().chains, transaction, true);
  for (const auto& problem : report.problems) UNSCOPED_INFO("record " << problem.record << ": " << problem.what);
  REQUIRE(report.problem_count == 0);
}

}  // namespace storage::test
