// What unique indexes of a branched database promise: no branch shows two documents under one key.
//
// An index covers all that there is, old commits too, which may well show such. So whoever brings records to a branch looks:
// writes and merges at what they bring, new indexes at every branch, and new or reset branches at commits from before an index.
#pragma once

#include "versions/database/collection_view.h"

namespace versions {

// All but that on _id, which the BranchStore sees to.
storage::StoredIndexes unique_indexes(const storage::StoredCollection& base);

// Records that the view shows under the key, beside `record`, until `each` returns false.
void each_rival(Transaction& transaction, BranchStore& store, const View& view, const storage::StoredIndex& index, BytesView key,
                RecordId record, const std::function<bool(RecordId)>& each);

// A view, and what its collection is called there.
struct NamedView {
  std::string ns;
  View view;
};
// Both throw DuplicateKey where the view shows two documents under one key of the index. `interrupted` is asked now and then and
// may throw.
void check_unique(Transaction& transaction, SharedCollection& shared, const storage::StoredIndex& index, const NamedView& view,
                  const std::function<void()>& interrupted);
// The same, knowing that `other` shows no such: what both show isn't looked at.
void check_unique_beside(Transaction& transaction, SharedCollection& shared, const storage::StoredIndexes& indexes,
                         const NamedView& view, const View& other, const std::function<void()>& interrupted);

}  // namespace versions
