// Three sides of one collection become one (Decibel §3.2, merge).
//
// Bitmaps alone say what each side changed since the common ancestor. If neither side shows a record of the ancestor any more,
// both have touched its document; the same holds for a key for which both sides have a new record. The merge compares only these
// documents field by field. It adopts all other changes of theirs as they are: the record itself, and no copy.
#pragma once

#include <map>
#include <unordered_set>

#include "versions/branch/branch_store.h"
#include "versions/branch/field_merge.h"
#include "versions/branch/kept_bytes.h"

namespace versions {

// A Decision is what somebody chose for one document.
struct Decision {
  enum class Take : uint8_t { ours, theirs, base, document } take = Take::ours;
  Bytes document = {};
  Hash sides{};  // hash_of the sides that it was decided about; for other sides the decision doesn't count
};
using Decisions = std::map<Bytes, Decision>;  // by key
Hash hash_of(const Sides& sides);

// CollectionTerms say how a collection is merged.
struct CollectionTerms {
  Resolver resolve = {};
  const Decisions* decided = nullptr;      // go before `resolve`, also for documents that theirs alone changed
  std::function<void()> interrupted = {};  // called at each document, and now and then within one; may throw
  Hold hold = {};                          // counts what the plan keeps
};

struct MergePlan {
  BranchStore::Adoption adoption;
  struct Conflict {
    Bytes key;
    RecordId base = 0, ours = 0, theirs = 0;  // 0: that side doesn't have the document
    std::vector<std::string> paths;           // empty: the conflict is about the document as a whole
    size_t bytes() const;                     // memory that it takes
  };
  std::vector<Conflict> conflicts;  // the conflicts that the resolver left open
  // Differences between the merged tree and one that simply takes what theirs changed since the base: what became of documents
  // that both sides touched, if it isn't ours, and documents that ours alone has.
  std::vector<DocumentHash> settled;
  std::unordered_set<Bytes> ours;
  uint64_t touched_by_both = 0;
  uint64_t changed_bytes = 0;                // bytes of contents that either side has and the ancestor hasn't
  uint64_t changed_records = 0;              // records that either a side has or the ancestor has, but not both
  KeptBytes kept_conflicts = {}, kept = {};  // what the conflicts take, and the others
};

// Memory that the paths of a conflict take.
size_t bytes_of(const std::vector<std::string>& paths);

// Plans a merge, and writes nothing.
MergePlan plan_merge(Transaction& transaction, BranchStore& store, const View& base, const View& ours, const View& theirs,
                     const CollectionTerms& terms);

}  // namespace versions
