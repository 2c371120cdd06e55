// Unique indexes promise in a branched database that no branch shows two documents under one key.
//
// An index covers all versions, those of old commits too, which may well show two documents under one key. So whoever gives a
// branch records must look: writes and merges look at these records, new indexes at every branch, and new or reset branches at
// commits from before an index.
#pragma once

#include "versions/database/collection_view.h"

namespace versions {

// Returns whether the BranchStore has the index's entries of versions. It has those of `_id`, by which it finds documents, unless
// the collection has a default collation: then two `_id`s may be one key, while a document is what its `_id`'s bytes say. So that
// index has entries of its own, like every other unique one.
bool kept_by_store(const storage::StoredIndex& index);

// All unique indexes except those that the BranchStore checks.
storage::StoredIndexes unique_indexes(const storage::StoredCollection& base);

// All indexes that are becoming unique (prepareUnique). They keep the doubles that there are, and no branch may get more of them.
storage::StoredIndexes prepared_indexes(const storage::StoredCollection& base);

// Calls `each` for the other records that the view shows under the key, until it returns false.
void each_rival(Transaction& transaction, BranchStore& store, const View& view, const storage::StoredIndex& index, BytesView key,
                RecordId record, const std::function<bool(RecordId)>& each);

// A view, and the collection's name there.
struct NamedView {
  std::string ns;
  View view;
};
// Both throw DuplicateKey if the view shows two documents under one key of the index. `interrupted` is called now and then, and
// may throw.
void check_unique(Transaction& transaction, SharedCollection& shared, const storage::StoredIndex& index, const NamedView& view,
                  const std::function<void()>& interrupted);
// The caller knows that `other` shows no such documents: this leaves out what both views show.
void check_unique_beside(Transaction& transaction, SharedCollection& shared, const storage::StoredIndexes& indexes,
                         const NamedView& view, const View& other, const std::function<void()>& interrupted);

}  // namespace versions
