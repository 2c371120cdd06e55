// These sets are indexed beside YCSB's records: texts in many versions, and blocks of transactions (§5.1).
#pragma once

#include "bench/merkle/records.h"

namespace bench::merkle {

struct VersionSet {
  std::string about;                         // where it is from, and how large
  std::vector<std::vector<Record>> batches;  // what each version writes
  std::vector<Bytes> keys;                   // that there are in the end
};

// This is the set of §5.1.2, with an edit history in place of Wikipedia's dumps of abstracts: a page's address is its key, the
// beginning of its text, at most the 1,036 bytes of the paper's longest, its value. Edits in the order of their times, in so many
// versions. `data`: the folder of data sets; nullopt, or where it has no wiki: a synthetic one of `records` edits. Throws
// datasets::InputError.
VersionSet text_versions(const std::optional<std::string>& data, uint64_t records, size_t versions);

// This is the set of §5.1.3, generated: it has of each transaction 64 hexadecimal digits and 100 to 57,738 bytes, whose lengths
// are distributed by a power law that has the paper's mean of 532.
VersionSet transaction_blocks(size_t blocks, size_t transactions_a_block);

}  // namespace bench::merkle
