// Merges that stopped at conflicts, and wait for somebody to decide them: one a branch at most.
//
//   versions-dbN-merges   branch 8                         -> from varint | request
//                         branch 8, collection 8, key      -> take 1 | sides 32 | document
//
// Nothing of such a merge is on the branch yet. What is decided is kept, each decision with a hash of what it was decided about;
// the merge is made anew when it goes on.
#pragma once

#include "bson/document.h"
#include "versions/branch/branches.h"

namespace versions {

struct OpenMerge {
  CommitNumber from = 0;
  bson::Document request;  // how it was asked for: the caller's
};

// Thread-safe; transactions are not.
class OpenMerges {
 public:
  // `database`: as VersionGraph's. Opens or makes the table, not inside a transaction.
  OpenMerges(storage::Engine& engine, uint32_t database);

  std::optional<OpenMerge> find(Transaction& transaction, BranchId branch) const;
  // Throws IllegalOperation where the branch has one.
  void begin(Transaction& transaction, BranchId branch, const OpenMerge& merge);
  // Conflicts with whoever ends the merge at the same time. Throws IllegalOperation where there is none.
  void decide(Transaction& transaction, BranchId branch, storage::CollectionId collection, BytesView key,
              const Decision& decision);
  Decisions decisions(Transaction& transaction, BranchId branch, storage::CollectionId collection) const;
  // False: there was none.
  bool end(Transaction& transaction, BranchId branch);
  // The commits that are to be merged.
  std::vector<CommitNumber> held(Transaction& transaction) const;

  const std::string& table_name() const { return table_.name(); }

 private:
  Table table_;
};

}  // namespace versions
