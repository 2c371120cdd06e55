// Three sides of one collection become one (Decibel §3.2, merge).
//
// What each side changed since the common ancestor is known from bitmaps alone. A record of the ancestor that neither side
// shows any more was touched by both, and so was a key that both have a new record for; only those documents are looked at
// field by field. Everything else that theirs changed is adopted as it is: the record itself, not a copy.
#pragma once

#include <map>
#include <unordered_set>

#include "versions/branch/branch_store.h"
#include "versions/branch/field_merge.h"

namespace versions {

// What somebody has decided about one document.
struct Decision {
  enum class Take : uint8_t { ours, theirs, base, document } take = Take::ours;
  Bytes document = {};
  Hash sides{};  // hash_of what it was decided about; of anything else it says nothing
};
using Decisions = std::map<Bytes, Decision>;  // by key
Hash hash_of(const Sides& sides);

// How a collection is merged.
struct CollectionTerms {
  Resolver resolve = {};
  Decisions decided = {};                  // come first, also for documents that theirs alone changed
  std::function<void()> interrupted = {};  // asked at each document; may throw
};

struct MergePlan {
  BranchStore::Adoption adoption;
  struct Conflict {
    Bytes key;
    RecordId base = 0, ours = 0, theirs = 0;  // 0: not there
    std::vector<std::string> paths;           // none: the document as a whole
  };
  std::vector<Conflict> conflicts;  // what the resolver left open
  // For the tree of the merged state, which has what theirs changed since the base, except for these: of documents that both
  // sides touched what became of them, where it isn't ours; and what ours alone has.
  std::vector<DocumentHash> settled;
  std::unordered_set<Bytes> ours;
  uint64_t touched_by_both = 0;
  uint64_t changed_bytes = 0;    // contents of what either side has that the ancestor hasn't
  uint64_t changed_records = 0;  // that one side has, and the ancestor or it hasn't
};

// Decides; writes nothing.
MergePlan plan_merge(Transaction& transaction, BranchStore& store, const View& base, const View& ours, const View& theirs,
                     const CollectionTerms& terms);

}  // namespace versions
