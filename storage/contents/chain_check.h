// check_chains verifies a chain store: every stub leads to its delta, every delta leads to its base, every stored count of
// references equals what a scan counts, and every content decodes to its checksum. It need not look for circles: a base ranks
// above what is based on it, and the parser refuses a row where it doesn't.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "storage/contents/chain_store.h"

namespace storage {

struct ChainReport {
  struct Problem {
    RecordId record = 0;  // the record whose content has the problem
    std::string what;
  };
  std::vector<Problem> problems;  // at most the first thousand
  int64_t problem_count = 0;
  StoreCounts counts;  // counted from the rows, with logical bytes and records
};

// This call reads everything once, in the transaction's snapshot. With `decode` it also decodes contents that no record shows
// any more. Its memory grows with the longest chain and with the number of problems.
ChainReport check_chains(const ChainStore& store, Transaction& transaction, bool decode,
                         const std::function<void()>& interrupted = nullptr);

}  // namespace storage
