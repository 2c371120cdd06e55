// Merges a document that both sides of a merge have changed.
//
//   mode                 a conflict is                                         both made it the same
//   document_touched     a document that both changed                          a conflict, too
//   document_divergent   a document that both changed                          no conflict
//   field_touched        a field that both changed                             a conflict, unless all of the document is the same
//   field_divergent      a field that both changed                             no conflict
//
// Fields are compared by their paths. Within objects only the fields that differ count; arrays are compared as wholes unless a
// rule says more. Touched fields are the default: if both sides counted 5 down to 4, they counted twice, though both say 4. It is
// no conflict in any mode if both removed something; it is one in every mode if one side removed it and the other changed it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bson/document.h"
#include "versions/branch/branch_store.h"
#include "versions/branch/path_rules.h"

namespace versions {

// One document on three sides; nullopt: that side doesn't have it. Borrowed for the call.
struct Sides {
  std::optional<BytesView> base, ours, theirs;
  const std::function<void()>* interrupted = nullptr;  // called now and then while fields are compared; throws to stop
  const Hold* hold = nullptr;                          // counts what is kept while they are compared
};

struct Resolution {
  enum class Kind : uint8_t { ours, theirs, written, conflict } kind;
  Bytes document = {};                  // if it was written
  std::vector<std::string> paths = {};  // the fields in conflict; empty: the document as a whole, or paths of more than 16 MB
};

// Called for each document that both sides changed and didn't both remove. If it leaves a conflict open, the merge writes
// nothing, and runs again once somebody has decided.
using Resolver = std::function<Resolution(const Sides&)>;

enum class MergeMode : uint8_t { document_touched, field_touched, field_divergent, document_divergent };

// Prefer says which side wins a conflict.
enum class Prefer : uint8_t { neither, ours, theirs };

struct MergeRules {
  MergeMode mode = MergeMode::field_touched;
  Prefer prefer = Prefer::neither;
  PathRules paths = {};  // for the two modes of fields
  // Called for documents in conflict before `prefer` counts; what it leaves open stays open. Empty: `prefer` alone counts.
  Resolver decide = {};
};
Resolution merge_documents(const Sides& sides, const MergeRules& rules);
Resolver resolver(MergeRules rules);

// Compares documents as wholes (the paper's two-way merge).
inline Resolver whole_documents(Prefer prefer) {
  return resolver({.mode = MergeMode::document_divergent, .prefer = prefer});
}
// Compares field by field (the paper's three-way merge, §2.2.3).
inline Resolver fields(Prefer prefer) {
  return resolver({.mode = MergeMode::field_divergent, .prefer = prefer});
}

}  // namespace versions
