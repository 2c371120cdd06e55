// What becomes of a document that both sides of a merge have changed.
//
//   mode                 a conflict is                                         both made it the same
//   document_touched     a document that both changed                          a conflict, too
//   document_divergent   a document that both changed                          no conflict
//   field_touched        a field that both changed                             a conflict, unless all of the document is the same
//   field_divergent      a field that both changed                             no conflict
//
// Fields are compared by their paths: of objects within objects those that differ, arrays as wholes unless a rule says more.
// Touched fields are the default: who counted 5 down to 4 on both sides has counted twice, though both say 4. What both removed
// is no conflict in any mode; what one removed and the other changed is one in each.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bson/document.h"
#include "versions/branch/branch_store.h"
#include "versions/branch/path_rules.h"

namespace versions {

// One document on three sides; nullopt: not there. Borrowed for the call.
struct Sides {
  std::optional<BytesView> base, ours, theirs;
};

struct Resolution {
  enum class Kind : uint8_t { ours, theirs, written, conflict } kind;
  Bytes document = {};                  // written
  std::vector<std::string> paths = {};  // conflict: the fields; none: the document as a whole
};

// Asked about each document that both sides changed and didn't both remove. A conflict is left open: the merge writes nothing
// then, and is made again when somebody has decided.
using Resolver = std::function<Resolution(const Sides&)>;

enum class MergeMode : uint8_t { document_touched, field_touched, field_divergent, document_divergent };

// Who is believed in a conflict.
enum class Prefer : uint8_t { neither, ours, theirs };

struct MergeRules {
  MergeMode mode = MergeMode::field_touched;
  Prefer prefer = Prefer::neither;
  PathRules paths = {};  // in the two modes of fields
  // Asked about documents in conflict before `prefer` is; what it leaves open stays open. Empty: nobody is asked.
  Resolver decide = {};
};
Resolution merge_documents(const Sides& sides, const MergeRules& rules);
Resolver resolver(MergeRules rules);

// Documents as wholes (the paper's two-way merge).
inline Resolver whole_documents(Prefer prefer) {
  return resolver({.mode = MergeMode::document_divergent, .prefer = prefer});
}
// Field by field (the paper's three-way merge, §2.2.3).
inline Resolver fields(Prefer prefer) {
  return resolver({.mode = MergeMode::field_divergent, .prefer = prefer});
}

}  // namespace versions
