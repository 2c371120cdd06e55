// Open merges are merges that stopped at conflicts, and wait for somebody to decide them. A branch has one at most.
//
//   versions-dbN-merges   branch 8                         -> from varint | request
//                         branch 8, collection 8, key      -> take 1 | sides 32 | document
//
// Nothing of such a merge is on the branch yet. Each decision is kept with a hash of the three sides that it was made about. The
// merge is planned anew when it goes on.
#pragma once

#include "bson/document.h"
#include "versions/branch/branches.h"

namespace versions {

struct OpenMerge {
  CommitNumber from = 0;
  bson::Document request;  // the caller's: how the client asked for the merge
};

// Thread-safe; transactions are not.
class OpenMerges {
 public:
  // `database` is as for VersionGraph. Opens the table, or makes it; must not be called inside a transaction.
  OpenMerges(storage::Engine& engine, uint32_t database);

  std::optional<OpenMerge> find(Transaction& transaction, BranchId branch) const;
  // Throws IllegalOperation if a merge waits on the branch.
  void begin(Transaction& transaction, BranchId branch, const OpenMerge& merge);
  // Another transaction that ends the merge at the same time conflicts. Throws IllegalOperation if no merge waits there.
  void decide(Transaction& transaction, BranchId branch, storage::CollectionId collection, BytesView key,
              const Decision& decision);
  // Returns the decisions about documents of the collection. `kept` counts them as they are read; nullptr: nobody counts.
  Decisions decisions(Transaction& transaction, BranchId branch, storage::CollectionId collection,
                      KeptBytes* kept = nullptr) const;
  // Returns the keys of the documents that decisions were made about.
  std::vector<Bytes> decided(Transaction& transaction, BranchId branch, storage::CollectionId collection) const;
  // Returns the decision about one document; nullopt: there is none yet.
  std::optional<Decision> decision(Transaction& transaction, BranchId branch, storage::CollectionId collection,
                                   BytesView key) const;
  // False: no merge was waiting.
  bool end(Transaction& transaction, BranchId branch);
  // The commits that the waiting merges take changes from.
  std::vector<CommitNumber> held(Transaction& transaction) const;

  const std::string& table_name() const { return table_.name(); }

 private:
  Table table_;
};

}  // namespace versions
