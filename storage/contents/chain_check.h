// Checks what the chain store believes: that every stub leads to its delta,
// every delta to its base, every count of references is what a scan counts, and
// every content decodes to its checksum. Bases rank above what they encode or
// the row is refused when parsed, so there is no circle to look for.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "storage/contents/chain_store.h"

namespace storage {

struct ChainReport {
  struct Problem {
    RecordId record = 0;  // whose content it concerns
    std::string what;
  };
  std::vector<Problem> problems;  // the first thousand
  int64_t problem_count = 0;
  StoreCounts counts;  // as the rows have it; logical bytes and records included
};

// Reads everything once, in the transaction's snapshot. `decode`: contents that no
// record shows any more too. Memory grows with the longest chain, and with what is wrong.
ChainReport check_chains(const ChainStore& store, Transaction& transaction, bool decode,
                         const std::function<void()>& interrupted = nullptr);

}  // namespace storage
