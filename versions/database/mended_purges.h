// Finds which records were purged, and of which documents, when the rows of `pending` that said so are lost.
//
// Commits go on naming a purged document: its record in their states, and its key in their hash trees. Nobody else has either.
// So a record and a key that the same commits name belong together. Two records that the same commits name need not be told
// apart.
#pragma once

#include <functional>
#include <map>
#include <unordered_map>
#include <vector>

#include "versions/branch/branches.h"
#include "versions/database/collection_view.h"

namespace versions {

struct PurgesToMend {
  Branches& branches;
  SharedCollection& shared;
  // These records have contents, entries of `_id`, or rows that say that they were purged.
  const RecordSet& known;
  // Records that the entries of `_id` don't lead to, by their documents' keys: contents without entries, and those rows.
  const std::unordered_map<Bytes, std::vector<RecordId>>& without_entry;
  const std::function<void()>& interrupted;  // may throw
};

// Returns the purged records that commits name, with the keys of their documents. It reads the states of all commits, the whole
// tree of a few of them, which together name all such records, and looks for the keys that it finds there in all other trees.
// Trees that can't be read are passed over. If a document was written several times with the same content, purged, and merged
// meanwhile, the search may not find all its records; `verify` finds such a document missing.
std::map<RecordId, Bytes> mend_purges(Transaction& transaction, const PurgesToMend& mend);

}  // namespace versions
