// Looks up the entries of `_id` by the records that they lead to, where records alone are known of documents.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "versions/branch/branch_store.h"

namespace versions {

std::string entries_table_of(const BranchStore& store);

// Returns the keys under which the store has entries of these records. It passes over all entries, and can be interrupted
// (storage::InterruptibleWaits).
std::unordered_map<RecordId, std::vector<Bytes>> entry_keys(Transaction& transaction, const BranchStore& store,
                                                            const RecordSet& records);

}  // namespace versions
